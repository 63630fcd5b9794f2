//! Events out of logs: which columns are what, which line is wrong, and that reading goes on.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used)]

use proptest::prelude::*;
use ratescope::Time;
use ratescope::log::csv::{self, LONGEST};
use ratescope::log::{Error, Row};
use std::error::Error as _;
use std::io::{self, BufReader, Read};

/// Every line of a log that has a header.
fn read(log: &[u8]) -> Vec<Result<Row, String>> {
    let rows = csv::read(log).unwrap();
    rows.map(|row| row.map_err(|error| error.to_string())).collect()
}

/// What is said of a log without a header that can be used.
#[track_caller]
fn assert_no_header(log: &str, says: &str) {
    assert_eq!(csv::read(log.as_bytes()).err().unwrap().to_string(), says, "{log:?}");
}

/// The time in microseconds, the cost, and the fields of these names.
fn parts<const N: usize>(row: &Row, names: [&str; N]) -> (i64, f64, [String; N]) {
    let event = row.event();
    (event.time.as_micros(), event.cost, names.map(|name| event.field(name).to_owned()))
}

fn strings<const N: usize>(values: [&str; N]) -> [String; N] {
    values.map(str::to_owned)
}

#[test]
fn every_other_column_is_a_field() {
    let log = "user,time,path,cost,ip\nann,0.5,/a,2,192.0.2.7\nbob,-1.000001,/b c,,::1\n";
    let rows = csv::read(log.as_bytes()).unwrap();
    assert_eq!(rows.fields(), ["user", "path", "ip"]);
    let rows: Vec<Row> = rows.map(Result::unwrap).collect();
    let names = ["user", "path", "ip"];
    assert_eq!(parts(&rows[0], names), (500_000, 2.0, strings(["ann", "/a", "192.0.2.7"])));
    assert_eq!(parts(&rows[1], names), (-1_000_001, 1.0, strings(["bob", "/b c", "::1"])));
    // The time and the cost are not, nor is what no column is called.
    assert_eq!(parts(&rows[0], ["time", "cost", "User"]).2, strings(["", "", ""]));
    assert_eq!(rows[0].event().fields.value("referer"), None);
}

/// A line may end early; spaces, empty lines, a byte order mark and ends of lines do not matter.
#[test]
fn what_may_be_left_out() {
    let log = "\u{feff}cost, time ,key\r\n2,0,a\r\n\r\n , -1.5\r\n,,\n3,1";
    let rows = read(log.as_bytes());
    let rows: Vec<_> = rows.iter().map(|row| parts(row.as_ref().unwrap(), ["key"])).collect();
    let want = [(0, 2.0, "a"), (-1_500_000, 1.0, ""), (1_000_000, 3.0, "")];
    assert_eq!(rows, want.map(|(time, cost, key)| (time, cost, strings([key]))));
    assert_eq!(read(b"time"), []);
    assert_eq!(read(b"\n\n\"\"\ntime\n"), []);
}

#[test]
fn quoted_fields_may_have_commas_and_quotes() {
    let log = "time,\"the key\"\n0,\"a,b\"\n\"1\",\"c \"\"d\"\"\"\n2,\"\"\n";
    let rows = read(log.as_bytes());
    let keys = rows.iter().map(|row| parts(row.as_ref().unwrap(), ["the key"]).2);
    assert_eq!(keys.collect::<Vec<_>>().concat(), ["a,b", "c \"d\"", ""]);
}

/// What can't be read is named with its line, and the next one comes after it.
#[test]
fn reading_goes_on_after_a_wrong_line() {
    let log = b"time,key,cost\n1,a\nnoon,b\n\n2,\"c\n3,d,-1\n4,e,1,1\n5,\xff\n6,f,1e13\n7,g,NaN\n\
        8,h,inf\n1.0000001,i\n,j\n9,k,1e12\n10,l,-0\n11,m,0x1\n";
    let rows = read(log);
    let time = "not a time; write seconds with up to six decimals, such as 12.5";
    let cost = "not a number from 0 to 1e12";
    let wrong: Vec<String> = rows.iter().filter_map(|row| row.clone().err()).collect();
    assert_eq!(
        wrong,
        [
            format!("line 3: time \"noon\": {time}"),
            "line 5: a quote is not closed; within quotes it is written twice".to_owned(),
            format!("line 6: cost \"-1\": {cost}"),
            "line 7: 4 fields, but the header names 3".to_owned(),
            "line 8: not text: it is not UTF-8".to_owned(),
            format!("line 9: cost \"1e13\": {cost}"),
            format!("line 10: cost \"NaN\": {cost}"),
            format!("line 11: cost \"inf\": {cost}"),
            format!("line 12: time \"1.0000001\": {time}"),
            format!("line 13: time \"\": {time}"),
            format!("line 16: cost \"0x1\": {cost}"),
        ]
    );
    let right: Vec<_> = rows.iter().flatten().map(|row| parts(row, ["key"])).collect();
    let want = [(1, 1.0, "a"), (9, 1e12, "k"), (10, 0.0, "l")];
    let want = want.map(|(second, cost, key)| (second * 1_000_000, cost, strings([key])));
    assert_eq!(right, want);
    assert!(right[2].1.is_sign_positive(), "minus zero is zero");
}

#[test]
fn a_header_that_cannot_be_used_is_refused() {
    let missing = "there is no input; its first line is a header such as time,key,cost";
    assert_no_header("", &format!("line 1: {missing}"));
    assert_no_header("\n \r\n", &format!("line 2: {missing}"));
    assert_no_header("key\na\n", "line 1: the header has no time; it is such as time,key,cost");
    assert_no_header("\n0,a\n", "line 2: the header has no time; it is such as time,key,cost");
    assert_no_header("time,time", "line 1: the header names the column \"time\" twice");
    assert_no_header("time,a,cost,a", "line 1: the header names the column \"a\" twice");
    assert_no_header("time,key,\n", "line 1: column 3 of the header has no name");
    assert_no_header(
        "time,\"key\n",
        "line 1: a quote is not closed; within quotes it is written twice",
    );
    let long = format!("time,{}\n", "k".repeat(LONGEST));
    assert_no_header(&long, "line 1: more than 1 MiB long; no event is");
}

/// A line of a megabyte is read, and one byte more is passed over, however much more follows.
#[test]
fn a_line_that_is_too_long_is_skipped() {
    let line = |bytes: usize| "b".repeat(bytes - "2,".len());
    let key = |row: &Result<Row, String>| match row {
        Ok(row) => Ok(row.event().field("key").len()),
        Err(error) => Err(error.clone()),
    };
    for (bytes, want) in [
        (LONGEST, Ok(LONGEST - 2)),
        (LONGEST + 1, Err("line 2: more than 1 MiB long; no event is".to_owned())),
        (3 * LONGEST, Err("line 2: more than 1 MiB long; no event is".to_owned())),
    ] {
        for end in ["\n", "\n3,c", "\n3,c\nx,d\n"] {
            let log = format!("time,key\n2,{}{end}", line(bytes));
            let rows = read(log.as_bytes());
            assert_eq!(key(&rows[0]), want, "{bytes} and {end:?}");
            assert_eq!(rows.get(1).map(key), end.contains('c').then_some(Ok(1)), "the next");
            let wrong = rows.get(2).map(|row| key(row).unwrap_err());
            assert!(wrong.is_none_or(|error| error.starts_with("line 4: time \"x\"")));
        }
        // The last line may have no end.
        assert_eq!(key(&read(format!("time,key\n2,{}", line(bytes)).as_bytes())[0]), want);
    }
    let carriage = format!("time,key\n2,{}\r\n3,c\n", line(LONGEST));
    assert_eq!(read(carriage.as_bytes()).len(), 2);
}

/// An input that fails, after so many bytes.
struct Failing<'a>(&'a [u8]);

impl Read for Failing<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        match self.0.read(into)? {
            0 => Err(io::Error::other("the disk is gone")),
            n => Ok(n),
        }
    }
}

/// The error of the input is handed on, once: nothing can come after it.
#[test]
fn an_input_that_fails_ends() {
    let rows = csv::read(BufReader::new(Failing(b"time\n1\nnoon\n2"))).unwrap();
    let rows: Vec<Result<Row, Error>> = rows.collect();
    assert_eq!(rows.len(), 3);
    assert!(rows[0].is_ok());
    let [wrong, failed] = [1, 2].map(|i| rows[i].as_ref().unwrap_err());
    assert_eq!((wrong.line(), wrong.input().is_none(), wrong.source().is_none()), (3, true, true));
    assert_eq!(failed.to_string(), "line 4: the disk is gone");
    assert_eq!(
        (failed.line(), failed.input().is_some(), failed.source().is_some()),
        (4, true, true)
    );
    let error = csv::read(BufReader::new(Failing(b""))).err().unwrap();
    assert_eq!(error.to_string(), "line 1: the disk is gone");
}

/// A field as a spreadsheet writes it.
fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}

proptest! {
    /// Whatever is in a field comes back, but for the white space around it.
    #[test]
    fn what_is_written_reads_back(
        rows in prop::collection::vec((any::<i64>(), 0.0f64..1e12, "[^\r\n]{0,8}", "[^\r\n]{0,8}"), 1..9),
    ) {
        let mut log = "time,a,cost,b\n".to_owned();
        for (micros, cost, a, b) in &rows {
            let time = Time::from_micros(*micros);
            log += &format!("{time},{},{cost},{}\n", quoted(a), quoted(b));
        }
        let read = read(log.as_bytes());
        prop_assert_eq!(read.len(), rows.len());
        for (row, (micros, cost, a, b)) in read.iter().zip(rows) {
            let got = parts(row.as_ref().unwrap(), ["a", "b"]);
            prop_assert_eq!(got, (micros, cost, strings([a.trim(), b.trim()])));
        }
    }

    /// Whatever comes in, it ends, and each wrong line is named once.
    #[test]
    fn no_input_breaks_it(
        lines in prop::collection::vec(
            prop_oneof![
                "[0-9.,\"a \u{e9}\r-]{0,12}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..12),
            ],
            0..20,
        ),
        header in prop::sample::select(&["time,a,cost\n", "", "\u{feff}time\n"]),
    ) {
        let log = [header.as_bytes(), &lines.join(&b'\n')].concat();
        let count = log.split(|byte| *byte == b'\n').count() as u64;
        let Ok(rows) = csv::read(&*log) else { return Ok(()) };
        let mut last = 0;
        for row in rows {
            if let Err(error) = row {
                prop_assert!(last < error.line() && error.line() <= count);
                last = error.line();
            }
        }
    }
}
