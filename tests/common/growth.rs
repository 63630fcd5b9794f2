//! How the time and the memory of a parser grow with its input.

#[path = "doubling.rs"]
mod doubling;

use doubling::{is_linear, time};
use std::time::Duration;

/// Something that reads, and an input of about a given length that should be hard to read.
pub(crate) struct Parser {
    name: &'static str,
    input: fn(usize) -> Vec<u8>,
    read: fn(&[u8]),
    bytes: u64,
}

/// Memory that does not grow with the input.
const FIXED: u64 = 3 << 20;

/// Lengths of inputs: from the first up to the second, until one takes long enough to be measured. If even
/// twice the second takes less, it is read in proportion: with half a million bytes, anything else takes far
/// longer.
const LENGTHS: [usize; 2] = [1 << 12, 1 << 18];
const LONG_ENOUGH: Duration = Duration::from_millis(2);

impl Parser {
    /// `bytes` may be allocated at once for each byte of the input, beside [`FIXED`].
    pub(crate) const fn new(
        name: &'static str,
        input: fn(usize) -> Vec<u8>,
        read: fn(&[u8]),
        bytes: u64,
    ) -> Self {
        Parser { name, input, read, bytes }
    }

    /// Whether twice the input takes less than treble the time, and the memory is bounded; if not, the
    /// figures.
    fn is_linear(&self) -> Result<(), String> {
        let name = self.name;
        let mut length = LENGTHS[0];
        let takes = |length| time(|| (self.read)(&(self.input)(length)));
        while length < LENGTHS[1] && takes(length) < LONG_ENOUGH {
            length *= 2;
        }
        let inputs = [length, 2 * length].map(self.input);
        if let Err(took) = is_linear(&inputs, |input| (self.read)(input))
            && took.iter().max() >= Some(&LONG_ENOUGH)
        {
            return Err(format!("{name}: {length} bytes and twice as many take {took:?}"));
        }
        let input = (self.input)(LENGTHS[1]);
        let used = allocation_counter::measure(|| (self.read)(&input)).bytes_max;
        let most = FIXED + self.bytes * input.len() as u64;
        match used <= most {
            true => Ok(()),
            false => Err(format!("{name}: {used} bytes to read {}", input.len())),
        }
    }
}

/// Panics unless all of these take time and memory in proportion to their input.
pub(crate) fn are_linear(parsers: &[Parser]) {
    let wrong: Vec<_> = parsers.iter().filter_map(|parser| parser.is_linear().err()).collect();
    assert!(wrong.is_empty(), "{wrong:#?}");
}

/// `unit` as often as fits in `length`, between two other texts.
pub(crate) fn repeat(before: &str, unit: &str, after: &str, length: usize) -> Vec<u8> {
    let times = length.saturating_sub(before.len() + after.len()) / unit.len();
    [before, &unit.repeat(times), after].concat().into_bytes()
}
