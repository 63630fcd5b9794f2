//! A log that is read from its source: in any pieces, and from a source that fails.

use super::invariants;
use proptest::prelude::*;
use ratescope_log::{Counts, Error, Log, Options, Unread};
use std::error::Error as _;
use std::io::{self, Read};

/// An input that comes in these pieces, and then fails.
#[derive(Debug)]
struct Failing<'a>(Vec<&'a [u8]>);

impl Read for Failing<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        if self.0.is_empty() {
            return Err(io::Error::other("the disk is gone"));
        }
        self.0.remove(0).read(into)
    }
}

/// The error of the input is returned once, and nothing is read after it.
#[test]
fn an_input_that_fails_ends() {
    let mut log =
        Log::open(Failing(vec![b"ti", b"me\n1\nno", b"on\n2"]), &Options::default()).unwrap();
    let mut events = 0;
    while log.read(&mut |_| events += 1).unwrap_or(false) {}
    assert_eq!((events, log.counts().unread), (1, 1));
    assert!(!log.read(&mut |_| events += 1).unwrap());

    let mut log = Log::open(Failing(vec![b"time\n1\n2\n"]), &Options::default()).unwrap();
    assert!(log.read(&mut |_| {}).unwrap());
    let error = log.read(&mut |_| {}).unwrap_err();
    assert_eq!(error.to_string(), "after line 3: the disk is gone");
    assert!(matches!(error, Error::Input { line: 3, .. }) && error.source().is_some());
    let error = Log::open(Failing(vec![]), &Options::default()).unwrap_err();
    assert_eq!(error.to_string(), "the input can't be read: the disk is gone");
}

/// If a line that can't be read is an error, the events before it are still handed out.
#[test]
fn a_log_may_be_read_strictly() {
    let mut log = Log::open(&b"time\n1\n2\nnoon\n3\n"[..], &Options::default()).unwrap();
    log.be_strict();
    let mut events = 0;
    let error = log.read(&mut |_| events += 1).unwrap_err();
    let says =
        "line 4: time \"noon\": not a time; write seconds with up to six decimals, such as 12.5";
    assert_eq!((events, error.to_string()), (2, says.to_owned()));
    assert!(matches!(error, Error::Unread(Unread { line: 4, .. })));
}

#[test]
fn counts_are_added_up() {
    let unread = |line| Unread { line, problem: "x".to_owned(), ..Unread::default() };
    let mut first = Counts {
        lines: 100,
        events: 90,
        filtered: 1,
        keyless: 0,
        others: 2,
        unread: 7,
        problems: [1, 2, 3].map(unread).to_vec(),
    };
    first.add(&Counts {
        lines: 50,
        events: 40,
        filtered: 3,
        keyless: 0,
        others: 4,
        unread: 3,
        problems: [5, 6, 7].map(unread).to_vec(),
    });
    let want = Counts {
        lines: 150,
        events: 130,
        filtered: 4,
        keyless: 0,
        others: 6,
        unread: 10,
        problems: [1, 2, 3, 105, 106].map(unread).to_vec(),
    };
    assert_eq!(first, want);
}

proptest! {
    /// Holds the promises of [`invariants::hold`] for any input.
    #[test]
    fn no_input_breaks_it(
        lines in prop::collection::vec(
            prop_oneof![
                "[0-9.,\"a \u{e9}\r{}:\\[\\]-]{0,30}".prop_map(String::into_bytes),
                prop::collection::vec(any::<u8>(), 0..12),
                prop::sample::select(invariants::LINES).prop_map(|line| line.as_bytes().to_vec()),
            ],
            0..20,
        ),
        cuts in prop::collection::vec((0usize..20, 0usize..200), 0..4),
        format in 0u8..6,
    ) {
        let mut lines = lines;
        for (line, at) in cuts {
            if let Some(line) = lines.get_mut(line) {
                line.truncate(at);
            }
        }
        invariants::hold(&[&[format][..], &lines.join(&b'\n')].concat());
    }
}
