//! Promises that hold for any input, however broken: for the tests and the fuzzer.

use ratescope_log::{
    Counts, Format, Layout, Log, LogShape, Options, Piece, Pieces, Reader, Record, recognize,
};
use std::io::Read;

/// A line of each kind, from which inputs are made.
pub(crate) const LINES: &[&str] = &[
    "192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET /a?b HTTP/1.1\" 200 2326 \"-\" \"Fox/5.0 (X11)\"",
    "www.example.org:80 ::ffff:192.0.2.7 - ann [10/Oct/2000:13:55:36 -0700] \"-\" 408 -",
    "203.0.113.9, 10.1.2.3 10.0.0.5 - - [10/Oct/2000:13:55:36.5 +0000] \"POST / HTTP/1.1\" 200 1 \"-\" \"-\"",
    r#"{"ts":1646861401.52,"request":{"remote_ip":"::1","uri":"/a","headers":{"A":["b\u00e9"]}},"status":200}"#,
    r#"{"time":"2000-10-10T13:55:36.25-07:00","client_ip":null,"remote_addr":"192.0.2.7","x":[1,{}]}"#,
    "2024-05-01 12:00:00 1s2abc-0003xY-Az <= \"a b\"@c H=mx (helo) [192.0.2.7]:1 A=p:ann S=9 T=\"x\"",
    "2024-05-01 12:00:00.123 +0200 [45] 1s2abc-00000003xyz-0abc => ann",
    "Oct 10 13:55:36 web1 sshd[1]: Failed password for invalid user x from 192.0.2.7 port 5 ssh2",
    "Feb 29 23:59:60 web1 sshd[1]: message repeated 2 times: [ Failed password for x from ::1 port 5]",
    "<38>1 2000-10-10T13:55:36Z web1 sshd 4567 ID [a b=\"\\]\"] Failed password for x from ::1 port 5",
    "<190>Oct 10 13:55:36 web1 nginx: 192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1",
    r#"{"log":"192.0.2.7 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1\n","time":"2000-10-10T13:55:36Z"}"#,
    "web-1  | 2000-10-10T13:55:36.123Z - ::1 - - [971211336.5] \"GET / HTTP/1.1\" 200 1",
    "192.0.2.7:4711 [10/Oct/2000:13:55:36.000] in b/s 0/0/0/0/0 200 9 - - ---- 1/1/0/0/0 0/0 {a|} \"GET / HTTP/1.1\"",
    "[2000-10-10T13:55:36.000Z] \"GET /a HTTP/1.1\" 200 - 0 1 2 3 \"a,::1\" \"-\" \"id\" \"host\" \"-\"",
    "971186136.000    120 192.0.2.7 TCP_MISS/000 9 GET http://a/ - HIER_NONE/- -",
    "10/Oct/2000:13:55:36 +0000|192.0.2.7|GET /a HTTP/1.1|200|1|curl",
    "#Fields: date time c-ip cs-method sc-status",
    "2000-10-10 13:55:36 192.0.2.7 GET 200",
    "time,key,cost,remote_addr",
    "0.5,\"a\"\"b\",2,192.0.2.7",
    "2024-05-01 12:00:00 H=(helo) [192.0.2.7]:1 F=<\"a b\"@c> rejected RCPT <x@y>: no\nP Received: from [::1]",
    "__CURSOR=s=1\n__REALTIME_TIMESTAMP=971186136000000\nSYSLOG_IDENTIFIER=sshd\nMESSAGE\n\u{b}\0\0\0\0\0\0\0Failed\n::1 \n",
    "__CURSOR=s=2\n__REALTIME_TIMESTAMP=971186137000000\nSYSLOG_IDENTIFIER=sshd\nMESSAGE=Failed password for x from ::1 port 5\n",
];

/// The names of the fields that are read of each event.
const NAMES: [&str; 16] = [
    "ip",
    "user",
    "method",
    "path",
    "status",
    "bytes",
    "host",
    "agent",
    "referer",
    "forwarded",
    "peer",
    "sender",
    "message",
    "request.uri",
    "key",
    "x",
];

/// An event: its line, time, cost bits and fields, and for how many equal events it stands.
type Seen = (u64, i64, u64, Vec<Option<String>>, u32);

/// Panics unless: the first half of the input is recognized as the whole is, if it suffices at all; reading
/// in any pieces, or by several readers, gives the same events and counts; no line is counted as two things;
/// and an address has the same text when it is asked for again. The first byte chooses the format; 8 takes
/// the first line as the layout of the others.
pub(crate) fn hold(data: &[u8]) {
    let Some((format, mut log)) = data.split_first() else { return };
    let mut layout = None;
    if *format == 8 {
        let end = log.iter().position(|b| *b == b'\n').map_or(log.len(), |end| end + 1);
        let (first, rest) = log.split_at(end);
        let said = String::from_utf8_lossy(first).parse::<Layout>().ok();
        let Some(said) = said else { return };
        (layout, log) = (Some(said.into()), rest);
    }
    let format = Format::all().nth(usize::from(*format));
    let path_depth = 2.try_into().ok();
    let options = Options { format, layout, ipv6_prefix: 56, path_depth, ..Options::default() };
    let shape = match recognize(log, true, &options) {
        Ok(shape) => shape.expect("all of it decides"),
        Err(error) => return assert!(!error.to_string().is_empty()),
    };
    if let Ok(Some(early)) = recognize(&log[..log.len() / 2], false, &options) {
        assert_eq!(early.to_string(), shape.to_string());
    }
    let read = |length| read(log, length, &shape, &options);
    let whole = read(log.len().max(1));
    for length in [1, 7, 100] {
        assert_eq!(whole, read(length), "in pieces of {length}");
    }
    assert_eq!(whole, shared(log, &options), "by several readers");
    let (events, counts) = whole;
    let lines =
        log.split(|b| *b == b'\n').count() - usize::from(log.ends_with(b"\n") || log.is_empty());
    // An entry of an exported journal counts as one line.
    let is_export = log.starts_with(b"__CURSOR=");
    assert!(counts.lines == lines as u64 || is_export && counts.lines < lines as u64);
    assert_eq!(counts.events, events.iter().map(|event| u64::from(event.4)).sum::<u64>());
    let numbers: Vec<u64> = events.iter().map(|(line, ..)| *line).collect();
    assert!(numbers.is_sorted_by(|a, b| a < b));
    let told = numbers.len() as u64 + counts.filtered + counts.others + counts.unread;
    assert!(told <= counts.lines, "{told} of {}", counts.lines);
    assert_eq!(counts.problems.len() as u64, counts.unread.min(5));

    let mut opened = Log::open(Slow(log, 13), &options).expect("it was recognized");
    let mut count = 0;
    while opened.read(&mut |_| count += 1).expect("a slice can be read") {}
    assert_eq!(count, events.len());
}

fn read(log: &[u8], length: usize, shape: &LogShape, options: &Options) -> (Vec<Seen>, Counts) {
    let mut reader = Reader::new(shape, options).expect("nothing special is asked for");
    let mut events = Vec::new();
    let mut on_event = |record: &Record<'_>| events.push(see(record, 0));
    for piece in log.chunks(length) {
        reader.feed(piece, &mut on_event).expect("it is not strict");
    }
    reader.finish(&mut on_event).expect("it is not strict");
    (events, reader.counts().clone())
}

/// Reads with three readers in turn, if the lines are independent, and otherwise with one.
fn shared(log: &[u8], options: &Options) -> (Vec<Seen>, Counts) {
    let mut pieces = Pieces::open(Slow(log, 13), options).expect("it was recognized");
    let shape = pieces.shape().clone();
    let part = |_| Reader::new(&shape, options).expect("nothing special is asked for");
    let mut readers: Vec<_> = (0..if shape.is_divisible() { 3 } else { 1 }).map(part).collect();
    let (mut events, mut counts, mut piece) = (Vec::new(), Counts::default(), Piece::default());
    for turn in 0.. {
        if !pieces.next(&mut piece).expect("a slice can be read") {
            break;
        }
        let turn = turn % readers.len();
        let mut on_event = |record: &Record<'_>| events.push(see(record, counts.lines));
        let part = readers[turn].read_piece(&piece, &mut on_event).expect("it is not strict");
        counts.add(&part);
    }
    (events, counts)
}

fn see(record: &Record<'_>, lines_before: u64) -> Seen {
    let values = NAMES.map(|name| record.value(name).map(str::to_owned)).to_vec();
    // Asked for again, the address is the same.
    assert_eq!(record.value("ip"), values[0].as_deref());
    assert!((0.0..=1e12).contains(&record.cost()));
    let cost = record.cost().to_bits();
    (lines_before + record.line(), record.time().as_micros(), cost, values, record.times())
}

/// An input that gives a few bytes at first, and twice as many each time.
struct Slow<'a>(&'a [u8], usize);

impl Read for Slow<'_> {
    fn read(&mut self, into: &mut [u8]) -> std::io::Result<usize> {
        let most = into.len().min(self.1);
        self.1 *= 2;
        self.0.read(&mut into[..most])
    }
}
