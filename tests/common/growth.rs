//! How the work and the memory of a parser grow with its input.
#![allow(dead_code)] // Each test file uses its part.

#[path = "doubling.rs"]
mod doubling;

use doubling::{FEW_ROUNDS, ROUNDS, is_linear, is_timed, time};
use std::time::Duration;

/// Something that reads, and an input of about a given length that should be hard to read.
pub(crate) struct Parser {
    name: &'static str,
    input: Input,
    read: fn(&[u8]),
    bytes: u64,
    longest: usize,
}

enum Input {
    Repeated([&'static str; 3]),
    Made(fn(usize) -> Vec<u8>),
}

/// Memory that does not grow with the input: as much as bzip2 takes for a block.
const FIXED: u64 = 4 << 20;

/// The longest input of most parsers: as many bytes as a line of a log, or a rule file, may have.
const LONGEST: usize = 1 << 20;

/// Where work is counted, the first of the two lengths.
const COUNTED: usize = 1 << 13;

/// Where it is timed, a short input is doubled from this length until it takes long enough to be measured, and a parser
/// that would take too long with the longest one gets a part of it.
const SHORT: usize = 1 << 12;
const LONG_ENOUGH: Duration = Duration::from_millis(2);
const TOO_LONG: Duration = Duration::from_millis(120);

impl Parser {
    /// Reads the second text as often as fits, between the two others. `bytes` may be allocated at once for each
    /// byte of the input, beside [`FIXED`].
    pub(crate) const fn new(
        name: &'static str,
        texts: [&'static str; 3],
        read: fn(&[u8]),
        bytes: u64,
    ) -> Self {
        Parser { name, input: Input::Repeated(texts), read, bytes, longest: usize::MAX }
    }

    /// Reads an input that is made for a length.
    pub(crate) const fn of(
        name: &'static str,
        input: fn(usize) -> Vec<u8>,
        read: fn(&[u8]),
        bytes: u64,
    ) -> Self {
        Parser { name, input: Input::Made(input), read, bytes, longest: usize::MAX }
    }

    /// An input that is no longer than this.
    pub(crate) const fn at_most(self, longest: usize) -> Self {
        Parser { longest, ..self }
    }

    fn input(&self, length: usize) -> Vec<u8> {
        let length = length.min(self.longest);
        match self.input {
            Input::Repeated([before, unit, after]) => repeat(before, unit, after, length),
            Input::Made(make) => make(length),
        }
    }

    /// Whether twice the input takes less than treble the work, and the memory is bounded; if not, the figures.
    fn is_linear(&self) -> Result<(), String> {
        let name = self.name;
        for (length, rounds) in self.lengths() {
            let inputs = [length, 2 * length].map(|length| self.input(length));
            let mut used = [0; 2];
            is_linear(&[0, 1], rounds, |i| {
                used[*i] = allocation_counter::measure(|| (self.read)(&inputs[*i])).bytes_max;
            })
            .map_err(|took| format!("{name}: {length} bytes and twice as many take {took}"))?;
            let [once, twice] = inputs.map(|input| input.len());
            // With the longest input, if it goes on like this.
            let longest = LONGEST.min(self.longest).max(twice);
            let grown = used[1].saturating_sub(used[0]) * (longest - twice) as u64;
            let used = used[1] + grown / (twice - once).max(1) as u64;
            if used > FIXED + self.bytes * longest as u64 {
                return Err(format!("{name}: {used} bytes to read {longest}"));
            }
        }
        Ok(())
    }

    /// The lengths that are taken together with twice as much, and how often. A short input shows heavy work, and the
    /// longest one work that has a small part in the time of the short one.
    fn lengths(&self) -> Vec<(usize, [usize; 2])> {
        if !is_timed() {
            return vec![(COUNTED.min(self.longest / 2), FEW_ROUNDS)];
        }
        let takes = |length| time(|| (self.read)(&self.input(length)));
        let (mut short, mut took) = (SHORT, takes(SHORT));
        while 4 * short <= LONGEST && took < LONG_ENOUGH {
            short *= 2;
            took = takes(short);
        }
        if took < LONG_ENOUGH {
            return Vec::new();
        }
        let mut long = LONGEST / 2;
        while long > short && took * (long / short) as u32 > TOO_LONG {
            long /= 2;
        }
        vec![(short, ROUNDS), (long, FEW_ROUNDS)]
    }
}

/// Panics unless all of these take work and memory in proportion to their input.
pub(crate) fn are_linear(parsers: &[Parser]) {
    let wrong: Vec<_> = parsers.iter().filter_map(|parser| parser.is_linear().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `unit` as often as fits in `length`, between two other texts.
pub(crate) fn repeat(before: &str, unit: &str, after: &str, length: usize) -> Vec<u8> {
    let times = length.saturating_sub(before.len() + after.len()) / unit.len();
    [before, &unit.repeat(times), after].concat().into_bytes()
}

/// The numbers from 0 in place of the `#` of `unit`, up to about `length` bytes, between two other texts.
pub(crate) fn numbered(before: &str, unit: &str, after: &str, length: usize) -> Vec<u8> {
    let units = (0..length / (unit.len() + 5)).map(|i| unit.replace('#', &i.to_string()));
    [before, &units.collect::<String>(), after].concat().into_bytes()
}
