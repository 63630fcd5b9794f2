//! CSV: the meaning of columns, problems of lines, and that reading continues after a problem.

use super::fields_of_csv::hold;
use super::{Read, of, read, read_in_pieces, seeds, shape};
use proptest::prelude::*;
use ratescope::Time;
use ratescope_log::{Format, LONGEST, Options, Unit, recognize};

/// Reads a log with a header.
#[track_caller]
fn csv<const N: usize>(log: &str, names: [&str; N]) -> Read<N> {
    read(log.as_bytes(), &of(Format::CSV), names)
}

/// Asserts the error for a log without a usable header.
#[track_caller]
fn assert_no_header(log: &str, says: &str) {
    let error = recognize(log.as_bytes(), true, &of(Format::CSV)).unwrap_err().to_string();
    assert!(error.ends_with(&format!("\nIt is not read as csv: {says}")), "{log:?}: {error}");
}

fn strings<const N: usize>(values: [&str; N]) -> [String; N] {
    values.map(str::to_owned)
}

#[test]
fn every_other_column_is_a_field() {
    let log = "user,time,path,cost,ip\nann,0.5,/a,2,192.0.2.7\nbob,-1.000001,/b c,,::1\n";
    assert_eq!(
        shape(log.as_bytes(), &Options::default()).fields().unwrap(),
        ["user", "path", "ip"]
    );
    let read = csv(log, ["user", "path", "ip"]);
    let want = [
        (500_000, 2.0, strings(["ann", "/a", "192.0.2.7"])),
        (-1_000_001, 1.0, strings(["bob", "/b c", "::/64"])),
    ];
    assert_eq!(read.events, want);
    // A field that has no column is missing.
    assert_eq!(csv(log, ["User", "referer"]).fields(), [["", ""]; 2]);
}

/// A line may end early; spaces, empty lines, a byte order mark and the kind of line ends make no difference.
#[test]
fn what_may_be_left_out() {
    let log = "\u{feff}cost, time ,key\r\n2,0,a\r\n\r\n , -1.5\r\n,,\n3,1";
    let want = [(0, 2.0, "a"), (-1_500_000, 1.0, ""), (1_000_000, 3.0, "")];
    assert_eq!(
        csv(log, ["key"]).events,
        want.map(|(time, cost, key)| (time, cost, strings([key])))
    );
    assert_eq!(csv("time", []).events, []);
    assert_eq!(csv("\n\ntime\n", []).events, []);
}

#[test]
fn quoted_fields_may_have_commas_and_quotes() {
    let log = "time,\"the key\"\n0,\"a,b\"\n\"1\",\"c \"\"d\"\"\"\n2,\"\"\n";
    assert_eq!(csv(log, ["the key"]).fields().concat(), ["a,b", "c \"d\"", ""]);
}

/// Columns may have other known names, and times may be dates or milliseconds.
#[test]
fn columns_may_have_the_names_of_servers() {
    let log =
        "timestamp,remote_addr,uri\n2000-10-10T20:55:36.5Z,::ffff:192.0.2.7,/a?b\n971211336500,,\n";
    let fields = shape(log.as_bytes(), &Options::default());
    assert_eq!(fields.fields().unwrap(), ["remote_addr", "uri", "ip", "path"]);
    let read = csv(log, ["ip", "path", "remote_addr"]);
    assert_eq!(
        read.events[0],
        (971_211_336_500_000, 1.0, strings(["192.0.2.7", "/a", "::ffff:192.0.2.7"]))
    );
    assert_eq!(read.events[1].0, 971_211_336_500_000);
    // Numbers are exact instants, and not whole seconds in which the event may be anywhere.
    assert_eq!(csv("time\n1\n2\n", []).coarse, [false, false]);
    let options = Options { unit: Some(Unit::Millis), ..of(Format::CSV) };
    assert_eq!(super::read(b"time\n1500\n", &options, []).events[0].0, 1_500_000);
}

const UNCLOSED: &str = "a quote is not closed; within quotes it is written twice";

/// The problem of a line has the number of the line, and the next lines are read.
#[test]
fn reading_goes_on_after_a_wrong_line() {
    let time = "not a time; write seconds with up to six decimals, such as 12.5";
    let cost = "not a number from 0 to 1e12";
    for (line, says) in [
        ("noon,b", format!("time \"noon\": {time}")),
        ("2,\"c", UNCLOSED.to_owned()),
        ("3,d,-1", format!("cost \"-1\": {cost}")),
        ("4,e,1,1", "4 fields, but the header names 3".to_owned()),
        ("6,f,1e13", format!("cost \"1e13\": {cost}")),
        ("7,g,NaN", format!("cost \"NaN\": {cost}")),
        ("8,h,inf", format!("cost \"inf\": {cost}")),
        ("1.0000001,i", format!("time \"1.0000001\": {time}")),
        ("1e5,i", format!("time \"1e5\": {time}")),
        (",j", format!("time \"\": {time}")),
        ("11,m,0x1", format!("cost \"0x1\": {cost}")),
    ] {
        let log = format!("time,key,cost\n1,a\n\n{line}\n9,k,1e12\n10,l,-0\n");
        let read = csv(&log, ["key"]);
        assert_eq!(read.problems(), [format!("line 4: {says}")]);
        let want = [(1, 1.0, "a"), (9, 1e12, "k"), (10, 0.0, "l")];
        let want = want.map(|(second, cost, key)| (second * 1_000_000, cost, strings([key])));
        assert_eq!(read.events, want);
        assert!(read.events[2].1.is_sign_positive(), "minus zero is zero");
        assert_eq!((read.counts.lines, read.counts.others, read.counts.unread), (6, 1, 1));
    }
    // All problems are counted, and only the first few are kept.
    let read = csv(&format!("time\n{}", "x\n".repeat(1000)), []);
    assert_eq!((read.counts.unread, read.counts.problems.len()), (1000, 5));
}

/// Each file of a log may begin with the header, with or without quotes, spaces and a byte order mark.
#[test]
fn a_header_may_come_again() {
    let log = "time,key\n1,a\n\"time\", key\n2,b\n\u{feff}time,key\n3,c\n";
    let read = csv(log, ["key"]);
    assert_eq!((read.fields().concat(), read.problems()), (vec!["a", "b", "c"], vec![]));
    // A header of numbers is no event.
    let options = Options { aliases: vec!["time=0".parse().unwrap()], ..of(Format::CSV) };
    assert_eq!(super::read(b"0,1\n5,a\n0,1\n", &options, ["1"]).fields(), [["a"]]);
}

/// Such names are written as such values are.
#[test]
fn a_header_may_have_bytes_that_are_not_utf_8() {
    let read = super::read(b"time,Schl\xfcssel\n1,a\n", &of(Format::CSV), ["Schl\\xFCssel"]);
    assert_eq!((read.fields(), read.problems()), (vec![["a"]], vec![]));
}

#[test]
fn a_header_that_cannot_be_used_is_refused() {
    for without_time in ["key\na\n", "\n0,a\n"] {
        assert_no_header(without_time, "the header has no time; write it as in time,key,cost");
    }
    assert_no_header("time,time", "the header names the column \"time\" twice");
    assert_no_header("time,a,cost,a", "the header names the column \"a\" twice");
    assert_no_header("time,key,\n", "column 3 of the header has no name");
    assert_no_header("time,\"key\n", UNCLOSED);
}

/// A line of one MiB is read, and one with a byte more is skipped, however much longer it is, and in whatever
/// pieces it comes.
#[test]
fn a_line_that_is_too_long_is_skipped() {
    let too_long = "line 2: longer than 1 MiB, so it is not read";
    for (bytes, is_read) in [(LONGEST, true), (LONGEST + 1, false), (3 * LONGEST, false)] {
        for end in ["", "\n", "\n3,c", "\n3,c\nx,d\n"] {
            let log = format!("time,key\n2,{}{end}", "b".repeat(bytes - 2));
            for length in [usize::MAX, LONGEST / 3 + 7, 4096] {
                let read = read_in_pieces(log.as_bytes(), length, &of(Format::CSV), ["key"]);
                let mut keys: Vec<usize> = read.fields().iter().map(|[key]| key.len()).collect();
                assert_eq!(end.contains('c'), keys.last() == Some(&1), "the next");
                keys.retain(|length| *length > 1);
                let (long, mut problems) =
                    if is_read { (vec![bytes - 2], vec![]) } else { (vec![], vec![too_long]) };
                assert_eq!(keys, long, "{bytes} and {end:?}");
                let time = "line 4: time \"x\": not a time; write seconds with up to six decimals, such as 12.5";
                problems.extend(end.contains('x').then_some(time));
                assert_eq!(read.problems(), problems);
            }
        }
    }
}

/// Each byte that is not UTF-8 is written with four characters, which do not make the line longer.
#[test]
fn a_line_is_as_long_as_its_bytes() {
    let log = [b"time,key\n1,", &[0xff; LONGEST / 2][..], b"\n2,a\n"].concat();
    for length in [usize::MAX, LONGEST / 3 + 7, 4096] {
        let read = read_in_pieces(&log, length, &of(Format::CSV), ["key"]);
        let keys: Vec<usize> = read.fields().iter().map(|[key]| key.len()).collect();
        assert_eq!((keys, read.problems()), (vec![2 * LONGEST, 1], vec![]), "{length}");
    }
}

/// A field in quotes, as a spreadsheet writes it.
fn quoted(field: &str) -> String {
    format!("\"{}\"", field.replace('"', "\"\""))
}

proptest! {
    /// Any field is read as it was written, apart from the white space around it. Times stay below the year
    /// 5138, since greater numbers are taken for another unit.
    #[test]
    fn what_is_written_reads_back(
        rows in prop::collection::vec(
            (-99_999_999_999_999_999i64..99_999_999_999_999_999, 0.0f64..1e12, "[^\r\n]{0,8}", "[^\r\n]{0,8}"),
            1..9,
        ),
    ) {
        let mut log = "time,a,cost,b\n".to_owned();
        let mut want = Vec::new();
        for (micros, cost, a, b) in &rows {
            let time = Time::from_micros(*micros);
            log += &format!("{time},{},{cost},{}\n", quoted(a), quoted(b));
            want.push((*micros, *cost, strings([a.trim(), b.trim()])));
        }
        prop_assert_eq!(csv(&log, ["a", "b"]).events, want);
    }

    /// The fuzzer tries this, too.
    #[test]
    fn fields_are_those_that_were_written(fields in prop::collection::vec("[a-z \t\u{a0}é.,\"]{0,6}", 1..5)) {
        hold(fields.join("\0").as_bytes());
    }
}

/// The seeds of the fuzzer.
#[test]
fn seeds_hold() {
    seeds::each("csv", 3, hold);
}
