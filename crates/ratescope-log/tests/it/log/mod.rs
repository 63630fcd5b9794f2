//! Events out of logs, in every format.

mod clf;
mod corpus;
mod csv;
mod exim;
mod fields;
mod fields_of_csv;
mod input;
mod invariants;
mod json;
mod layouts;
mod logins;
mod lookalikes;
mod order;
mod posing;
mod proxies;
mod real;
mod recognition;
mod sample;
mod strftime;
mod syslog;
mod times;
mod unpack;
mod wrappers;

use crate::doubling;
use crate::seeds;
use crate::table;
use ratescope_log::{Counts, Format, LogShape, Options, Reader, recognize};

/// An event: its time in microseconds, its cost, and the fields that were asked for, empty if there
/// are none.
type Seen<const N: usize> = (i64, f64, [String; N]);

/// The result of reading a log.
#[derive(Debug, PartialEq)]
struct Read<const N: usize> {
    events: Vec<Seen<N>>,
    coarse: Vec<bool>,
    counts: Counts,
}

impl<const N: usize> Read<N> {
    /// The fields of all events.
    fn fields(&self) -> Vec<[&str; N]> {
        self.events.iter().map(|(_, _, fields)| fields.each_ref().map(String::as_str)).collect()
    }

    /// The messages about the lines that could not be read.
    fn problems(&self) -> Vec<String> {
        self.counts.problems.iter().map(ToString::to_string).collect()
    }
}

fn shape(log: &[u8], options: &Options) -> LogShape {
    recognize(log, true, options).unwrap().unwrap()
}

/// Reads a log at once.
#[track_caller]
fn read<const N: usize>(log: &[u8], options: &Options, names: [&str; N]) -> Read<N> {
    read_in_pieces(log, usize::MAX, options, names)
}

/// Reads a log in pieces of `length` bytes.
#[track_caller]
fn read_in_pieces<const N: usize>(
    log: &[u8],
    length: usize,
    options: &Options,
    names: [&str; N],
) -> Read<N> {
    let mut reader = Reader::new(&shape(log, options), options).unwrap();
    let (mut events, mut coarse) = (Vec::new(), Vec::new());
    let mut see = |record: &ratescope_log::Record<'_>| {
        let fields = names.map(|name| record.value(name).unwrap_or("").to_owned());
        for _ in 0..record.times() {
            events.push((record.time().as_micros(), record.cost(), fields.clone()));
            coarse.push(record.when().coarse);
        }
    };
    for piece in log.chunks(length) {
        reader.feed(piece, &mut see).unwrap();
    }
    reader.finish(&mut see).unwrap();
    Read { events, coarse, counts: reader.counts().clone() }
}

/// A log of a format that is said.
fn of(format: Format) -> Options {
    Options { format: Some(format), ..Options::default() }
}
