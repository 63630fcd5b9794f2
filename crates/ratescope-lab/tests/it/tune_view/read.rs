//! Logs in pieces.

use crate::tune_view::{imported, log};
use ratescope::Span;
use ratescope_lab::traffic::sample::Style;
use ratescope_lab::tune::{
    Analysis, Choices, Import, Imported, LabelRow, LimitEffect, ReadOptions, Report, Room, Summary,
};
use ratescope_log::Options;

fn bytes(summary: &Summary) -> Vec<u8> {
    let mut bytes = Vec::new();
    summary.write(&mut bytes).unwrap();
    bytes
}

#[test]
fn the_pieces_do_not_matter() {
    for style in Style::ALL {
        let text = log(style);
        let text = &text[..text.char_indices().nth(100_000).map_or(text.len(), |(at, _)| at)];
        let whole = bytes(&imported(text, usize::MAX / 2).summary);
        for piece in [7, 4096, 70_001] {
            assert!(bytes(&imported(text, piece).summary) == whole, "{style} in pieces of {piece}");
        }
    }
}

/// A stranger's text could be read as another one, if it changed the direction of its own characters.
#[test]
fn texts_of_a_log_do_not_change_their_direction() {
    let (turned, shown) = ("\u{202e}7.2.0.291\u{2066}", "·7.2.0.291·");
    let line = |second| {
        let time = format!("[10/Oct/2000:13:55:{second:02} +0000]");
        format!("192.0.2.7 - {turned} {time} \"GET /{turned} HTTP/1.1\" 200 1 \"-\" \"{turned}\"\n")
    };
    let log: String = (0..9).map(line).collect();
    let options = Options { key: Some("user".parse().unwrap()), ..Options::default() };
    let reading = ReadOptions { options, ..ReadOptions::default() };
    let mut import = Import::new(reading, Room::default());
    import.feed(log.as_bytes()).unwrap();
    import.end().unwrap();
    let mut analysis = Analysis::new(import.finish().unwrap(), "limit=1".parse().unwrap());
    while !analysis.step(1 << 30) {}
    let client = analysis.table("", 1).0.remove(0);
    assert_eq!((client.key.as_str(), analysis.cells(&client)[0].as_str()), (turned, shown));
    let says = LimitEffect::new(&analysis).unwrap().headline;
    assert!(says.contains(shown) && !says.contains(turned), "{says}");
    let [paths, agents] =
        LabelRow::tables(&analysis, 1).map(|(mut rows, _)| rows.remove(0).cells());
    assert_eq!([&paths[0], &agents[0]], [&format!("/{shown}"), shown]);

    let mut import = Import::new(ReadOptions::default(), Room::default());
    import.feed(format!("{turned};b;c;d\n").as_bytes()).unwrap();
    import.end().unwrap_err();
    assert_eq!(import.proposal().unwrap().columns[0].1, shown);
}

/// The columns of a known format are known, even if a log of it can't be read.
#[test]
fn nothing_is_proposed_for_a_log_of_a_known_format() {
    let options = Options { key: Some("nosuch".parse().unwrap()), ..Options::default() };
    let reading = ReadOptions { options, ..ReadOptions::default() };
    let mut import = Import::new(reading, Room::default());
    let fed = import.feed(log(Style::Combined).as_bytes());
    let says = fed.and_then(|()| import.end()).unwrap_err().to_string();
    assert!(says.starts_with("\"nosuch\": not a field of this log"), "{says}");
    assert!(import.proposal().is_none());
}

#[test]
fn a_summary_is_no_log() {
    let summary = bytes(&imported(&log(Style::Combined), 1 << 16).summary);
    let mut import = Import::new(ReadOptions::default(), Room::default());
    let fed = summary.chunks(1000).try_for_each(|piece| import.feed(piece));
    let says = "the input is no log: it is a summary; ratescope tune --merge adds summaries up";
    assert_eq!(fed.and_then(|()| import.end()).unwrap_err().to_string(), says);
}

#[test]
fn what_is_no_log_is_given_up_and_those_before_it_stay() {
    let new = || Import::new(ReadOptions::default(), Room::default());
    let mut import = new();
    import.feed(b"time,key\n1,ann\n2,bob\n").unwrap();
    import.end().unwrap();
    import.feed(b"no log").unwrap();
    assert!(import.end().unwrap_err().to_string().starts_with("the format of the log is unknown"));
    import.drop_log();
    // Clients of another kind do not add up.
    import.feed(b"192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1\n").unwrap();
    let error = import.end().unwrap_err().to_string();
    assert!(error.contains("per key, another per ip"), "{error}");
    import.feed(b"time,key\n1,ann\n").unwrap();
    import.drop_log();
    let summary = import.finish().unwrap().summary;
    assert_eq!((summary.clients.requests(), summary.lines), (2, 3));

    let mut import = new();
    assert!(import.end().unwrap_err().to_string().contains("empty"));
    assert_eq!(import.finish().unwrap_err(), "there are no logs");

    let options = Options { key: Some("colour".parse().unwrap()), ..Options::default() };
    let reading = ReadOptions { options, ..ReadOptions::default() };
    let mut import = Import::new(reading, Room::default());
    let error = import.feed(b"time,key\n1,ann\n").unwrap_err().to_string();
    assert!(error.starts_with("\"colour\": not a field of this log"), "{error}");
}

/// Of a log that is given up, nothing counts: not its format, not the word for its events, and not what it
/// says about proxies.
#[test]
fn a_log_that_is_given_up_leaves_nothing() {
    let mail = "2024-05-01 12:00:00 1s2abc-0003xY-Az <= a@b H=mx (h) [192.0.2.7] P=smtp S=9\n";
    let time = |minute: u32| format!("[10/Oct/2000:13:{minute:02}:36 -0700]");
    let behind_proxy = |minute: u32| {
        format!("203.0.113.9 10.0.0.5 - - {} \"GET / HTTP/1.1\" 200 1\n", time(minute))
    };
    let options = Options { key: Some("ip".parse().unwrap()), ..Options::default() };
    let reading = ReadOptions { options, ..ReadOptions::default() };
    let mut import = Import::new(reading, Room::default());
    import.feed(mail.as_bytes()).unwrap();
    import.end().unwrap();
    // Once with the newest line first, and once dropped after its format was recognized.
    let newest_first: String = (0..50).rev().map(behind_proxy).collect();
    import.feed(newest_first.as_bytes()).unwrap();
    assert!(import.end().unwrap_err().to_string().starts_with("the newest line is the first"));
    let in_order: String = (0..50).map(behind_proxy).collect();
    import.feed(in_order.as_bytes()).unwrap();
    import.drop_log();
    let read = import.finish().unwrap();
    assert_eq!(read.summary.clients.requests(), 1);
    assert_eq!((read.formats(), read.events()), (&["Exim's main log".to_owned()][..], "mails"));
    assert_eq!((read.has_forwarded, read.addresses().forwarded), (false, false));
    assert_eq!(read.shape.map(|shape| shape.to_string()).as_deref(), Some("Exim's main log"));
}

/// A log that is still read has its name, and the logs before it count.
#[test]
fn the_logs_so_far_have_their_names() {
    let mut import = Import::new(ReadOptions::default(), Room::default());
    let so_far = |import: &Import| {
        let Imported { summary, counts, .. } = import.so_far().unwrap();
        let problems: Vec<_> = counts.problems.iter().map(ToString::to_string).collect();
        (summary.clients.requests(), problems.join("; "))
    };
    import.name("a.csv");
    import.feed(b"time,key\n1,ann\nsoon,bob\n").unwrap();
    import.end().unwrap();
    import.name("b.csv");
    import.feed(b"time,key\n2,ann\nsoon,bob\n").unwrap();
    let (requests, problems) = so_far(&import);
    let [of_a, of_b] = ["a.csv", "b.csv"].map(|log| format!("{log}, line 3: time \"soon\": "));
    assert!(requests == 2 && problems.starts_with(&of_a) && problems.contains(&of_b), "{problems}");
    // With so few lines, this format is not recognized yet.
    let mut import = Import::new(ReadOptions::default(), Room::default());
    let line = "192.0.2.1 - - [10/Oct/2000:13:55:36 -0700] \"GET / HTTP/1.1\" 200 1\nnonsense\n";
    for name in ["a.log", "b.log"] {
        import.name(name);
        import.feed(line.as_bytes()).unwrap();
        let (requests, problems) = so_far(&import);
        assert!(problems.contains(&format!("{name}, line 2: ")), "{problems}");
        assert_eq!(requests, if name == "a.log" { 1 } else { 2 });
        import.end().unwrap();
    }
}

#[test]
fn what_became_of_lines_and_times_is_told() {
    let mut import = Import::new(ReadOptions::default(), Room::default());
    let line = |second: u32| {
        format!("192.0.2.1 - - [10/Oct/2000:13:5{second}:36 -0700] \"GET / HTTP/1.1\" 200 1\n")
    };
    let text = [line(5), "nonsense\n".to_owned(), line(5), line(9), line(1)].concat();
    import.feed(text.as_bytes()).unwrap();
    import.end().unwrap();
    assert_eq!(import.lines(), 5);
    let log = import.finish().unwrap();
    assert_eq!(log.formats(), ["Common Log Format"]);
    let Imported { counts, times, .. } = log;
    assert_eq!((counts.lines, counts.unread, counts.problems[0].line), (5, 1, 2));
    assert_eq!((times.spread_out, times.late), (1, 1));
}

/// Events that name no client are counted, and the report says so in either case.
#[test]
fn events_without_a_client_are_told() {
    for (rows, only_keyed, note) in [
        ("1,ann\n2,\n3,\n", false, "2 of 3 have no key, and count as one client."),
        ("1,ann\n2,\n", false, "1 of 2 has no key, and counts as a client."),
        ("1,ann\n2,\n3,\n", true, "2 without key left out."),
    ] {
        let options = Options { only_keyed, ..Options::default() };
        let mut import =
            Import::new(ReadOptions { options, ..ReadOptions::default() }, Room::default());
        import.feed(format!("time,key\n{rows}").as_bytes()).unwrap();
        import.end().unwrap();
        let analysis = Analysis::new(import.finish().unwrap(), Choices::default());
        assert_eq!(Report::new(&analysis).notes, [note], "{rows:?}");
    }
}

/// The lines that wait to be put in order take their part of the room, and not more beside it.
#[test]
fn lines_that_wait_are_within_the_room() {
    let room = Room { clients: 100, bytes: 1 << 20 };
    // All within the slack, so that none is handed out unless there is no room.
    let line = |i: u32| format!("{}.{:06},c{}\n", i / 2000, i % 2000 * 500, i % 10);
    let text: String = (0..60_000).map(line).collect();
    let mut import =
        Import::new(ReadOptions { slack: Some(Span::from_mins(1)), ..Default::default() }, room);
    import.feed(b"time,key\n").unwrap();
    let used = allocation_counter::measure(|| {
        text.as_bytes().chunks(4096).for_each(|piece| import.feed(piece).unwrap());
    });
    assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
    import.end().unwrap();
    assert_eq!(import.finish().unwrap().summary.clients.requests(), 60_000);
}

/// Lines that stand for thirty million events are as many as a thousand each, which are not held one by one.
#[test]
fn repeated_messages_are_within_the_room() {
    let line = |i: usize| {
        format!(
            "Oct 10 13:{:02}:{:02} web1 sshd[1]: message repeated 100000 times: \
             [ Failed password for root from 192.0.2.7 port 5 ssh2]\n",
            i / 60,
            i % 60
        )
    };
    let text: String = (0..300).map(line).collect();
    let mut import = Import::new(ReadOptions::default(), Room { clients: 100, bytes: 1 << 20 });
    let used = allocation_counter::measure(|| {
        import.feed(text.as_bytes()).unwrap();
        import.end().unwrap();
    });
    assert!(used.bytes_max < 1 << 20, "{} bytes", used.bytes_max);
    let read = import.finish().unwrap();
    assert_eq!((read.summary.clients.requests(), read.times.dropped), (300_000, 0));
}

/// Paths may take a part of the room only.
#[test]
fn many_paths_leave_room_for_clients() {
    let mut import = Import::new(Default::default(), Room { clients: 1000, bytes: 1 << 20 });
    for i in 0..20_000 {
        let line = format!(
            "192.0.2.{} - - [10/Oct/2000:13:{:02}:{:02} +0000] \"GET /{i:0100} HTTP/1.1\" 200 1\n",
            i % 250,
            i / 60 % 60,
            i % 60
        );
        import.feed(line.as_bytes()).unwrap();
    }
    import.end().unwrap();
    let clients = import.finish().unwrap().summary.clients;
    assert_eq!((clients.len(), clients.left_out()), (250, 0));
}
