//! The events of one client in a few bytes each.
//!
//! An event is kept as the time since the previous event, and its cost unless it is 1. The time is a whole number of
//! seconds, milliseconds or microseconds, the coarsest unit that is exact. The time, its unit and a bit that a cost
//! follows share one number of seven bits a byte. So an event takes one byte up to 15 whole seconds after the last, two
//! bytes up to half an hour of whole seconds, and four at any microsecond of the next half minute. If labels are kept,
//! their numbers follow, two bytes each.

use super::dictionary::Codes;
use ratescope::limit::MAX_COST;
use ratescope::time::Time;

/// An event of a client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Moment {
    /// The time.
    pub time: Time,
    /// The cost, from 0 to [`MAX_COST`].
    pub cost: f64,
}

/// The largest distance of a kept time from the origin, in microseconds: 18,000 years.
pub(super) const FURTHEST: u64 = 1 << 59;

/// The most bytes of an event: ten for the time, nine for the cost, four for the numbers of the labels.
pub(super) const LONGEST: usize = 23;

/// Microseconds in the units, the finest first.
const UNITS: [u64; 3] = [1, 1_000, 1_000_000];

/// Whole costs below 2^52 are written as numbers, all others as the bits of their f64.
const WHOLE: f64 = (1u64 << 52) as f64;

/// An event on its way into a stream.
pub(super) struct Written {
    bytes: [u8; LONGEST],
    len: usize,
}

impl Written {
    /// An event of cost `cost`, `step` microseconds after the previous event. For the first event of a stream, `step`
    /// is [`first`] of its time.
    #[inline]
    pub(super) fn new(step: u64, cost: f64, codes: Option<Codes>) -> Self {
        let (units, unit) = match step {
            _ if step.is_multiple_of(UNITS[2]) => (step / UNITS[2], 2),
            _ if step.is_multiple_of(UNITS[1]) => (step / UNITS[1], 1),
            _ => (step, 0),
        };
        let costs = cost != 1.0;
        let mut written = Written { bytes: [0; LONGEST], len: 0 };
        written.number(units << 3 | unit << 1 | u64::from(costs));
        if costs {
            written.cost(cost);
        }
        if let Some([path, agent]) = codes {
            written.append(&(u32::from(path) | u32::from(agent) << 16).to_le_bytes());
        }
        written
    }

    #[inline]
    pub(super) fn bytes(&self) -> &[u8] {
        self.bytes.get(..self.len).unwrap_or(&[])
    }

    /// Writes a whole cost below 2^52 as twice its number, any other cost as a 1 and the eight bytes of its
    /// f64.
    fn cost(&mut self, cost: f64) {
        if cost < WHOLE && cost == libm::trunc(cost) {
            return self.number((cost as u64) << 1);
        }
        self.number(1);
        self.append(&cost.to_bits().to_le_bytes());
    }

    /// Writes seven bits a byte, the lowest first; all but the last byte have the highest bit set.
    #[inline]
    fn number(&mut self, mut n: u64) {
        while n >= 0x80 {
            self.append(&[n as u8 | 0x80]);
            n >>= 7;
        }
        self.append(&[n as u8]);
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        if let Some(place) = self.bytes.get_mut(self.len..self.len + bytes.len()) {
            place.copy_from_slice(bytes);
            self.len += bytes.len();
        }
    }
}

/// The number for the time of the first event: twice its microseconds from the origin, plus 1 if it is
/// before the origin.
pub(super) fn first(time: Time) -> u64 {
    let micros = time.as_micros();
    micros.unsigned_abs() << 1 | u64::from(micros < 0)
}

impl Moment {
    /// Tells whether the event can be kept: a cost in its range, and a time that fits the stream.
    #[inline]
    pub(super) fn can_be_kept(&self) -> bool {
        (0.0..=MAX_COST).contains(&self.cost) && self.time.as_micros().unsigned_abs() < FURTHEST
    }
}

/// Reads the events of a stream, in order. Ends at bytes that are not an event.
#[derive(Clone, Debug)]
pub(super) struct Moments<'a> {
    parts: [&'a [u8]; 2],
    last: Option<i64>,
    /// Codes follow each event.
    labelled: bool,
}

impl<'a> Moments<'a> {
    /// The events of a stream in two parts; no event lies in both.
    pub(super) fn new(parts: [&'a [u8]; 2], labelled: bool) -> Self {
        Moments { parts, last: None, labelled }
    }

    /// The next event with the numbers of its labels, 0 if labels are not kept.
    #[inline]
    pub(super) fn next_labelled(&mut self) -> Option<(Moment, Codes)> {
        if self.parts[0].is_empty() {
            self.parts.swap(0, 1);
        }
        let (head, mut rest) = number(self.parts[0])?;
        let step = (head >> 3).checked_mul(*UNITS.get((head >> 1 & 3) as usize)?)?;
        let micros = match self.last {
            Some(last) => last.checked_add_unsigned(step)?,
            None if step & 1 == 0 => (step >> 1).cast_signed(),
            None => -(step >> 1).cast_signed(),
        };
        let mut cost = 1.0;
        let mut codes = Codes::default();
        if head & 1 == 1 {
            (cost, rest) = self::cost(rest)?;
        }
        if self.labelled {
            let (&[a, b, c, d], after) = rest.split_first_chunk()?;
            codes = [u16::from_le_bytes([a, b]), u16::from_le_bytes([c, d])];
            rest = after;
        }
        self.parts[0] = rest;
        self.last = Some(micros);
        Some((Moment { time: Time::from_micros(micros), cost }, codes))
    }

    /// Returns whether all bytes were read.
    pub(super) fn is_at_end(&self) -> bool {
        self.parts.iter().all(|part| part.is_empty())
    }
}

/// The first number of `bytes`, and the rest.
#[inline]
fn number(mut bytes: &[u8]) -> Option<(u64, &[u8])> {
    let mut n = 0;
    for shift in (0..64).step_by(7) {
        let (byte, rest) = bytes.split_first()?;
        bytes = rest;
        n |= u64::from(byte & 0x7f) << shift;
        if *byte < 0x80 {
            return Some((n, bytes));
        }
    }
    None
}

/// The cost at the beginning of `bytes`, and the rest.
#[cold]
fn cost(bytes: &[u8]) -> Option<(f64, &[u8])> {
    let (n, rest) = number(bytes)?;
    if n & 1 == 0 {
        return Some(((n >> 1) as f64, rest));
    }
    let (bits, rest) = rest.split_first_chunk()?;
    Some((f64::from_bits(u64::from_le_bytes(*bits)), rest))
}

impl Iterator for Moments<'_> {
    type Item = Moment;

    #[inline]
    fn next(&mut self) -> Option<Moment> {
        self.next_labelled().map(|(moment, _)| moment)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read() {
        let costs = [1.0, 0.0, 2.0, 0.1, 1e12, 1e12 + 0.5, 4096.0, f64::MIN_POSITIVE];
        for begin in [0, 1, -1, -1_431_857_100_000_000, FURTHEST.cast_signed() - 1] {
            let mut bytes = Vec::new();
            let mut wanted = Vec::new();
            let mut micros = begin;
            let mut step = first(Time::from_micros(begin));
            let mut ends = vec![0];
            for (cost, next) in costs.iter().zip([0u64, 1, 999, 1_000, 15_000_000, 7 << 40, 3, 0]) {
                bytes.extend(Written::new(step, *cost, None).bytes());
                ends.push(bytes.len());
                wanted.push(Moment { time: Time::from_micros(micros), cost: *cost });
                step = next;
                micros += next.cast_signed();
            }
            for cut in 0..=bytes.len() {
                let (a, b) = bytes.split_at(cut);
                let whole = ends.iter().filter(|end| (1..=cut).contains(*end)).count();
                if ends.contains(&cut) {
                    assert_eq!(Moments::new([a, b], false).collect::<Vec<_>>(), wanted);
                }
                // A truncated stream has the events before the cut.
                assert_eq!(Moments::new([a, &[]], false).collect::<Vec<_>>(), wanted[..whole]);
            }
        }
    }

    #[test]
    fn numbers_of_all_lengths_are_read() {
        for bits in 0..64 {
            for n in [1 << bits, (1 << bits) - 1, u64::MAX >> bits, 0x5555_5555_5555_5555 >> bits] {
                let mut written = Written { bytes: [0; LONGEST], len: 0 };
                written.number(n);
                assert_eq!(
                    written.len,
                    (64 - n.leading_zeros() as usize).max(1).div_ceil(7),
                    "{n}"
                );
                let bytes = [written.bytes(), &[0x80; 9]].concat();
                assert_eq!(number(&bytes), Some((n, &[0x80; 9][..])), "{n}");
                assert_eq!(number(&bytes[..written.len - 1]), None, "{n}");
            }
        }
        assert_eq!((number(&[]), number(&[0x80; 12])), (None, None));
    }

    #[test]
    fn a_few_bytes_each() {
        for (step, bytes) in [
            (0, 1),
            (15_000_000, 1),
            (16_000_000, 2),
            (1_800_000_000, 2),
            (134_217_727, 5),
            (33_000_001, 4),
        ] {
            assert_eq!(Written::new(step, 1.0, None).bytes().len(), bytes, "{step}");
        }
    }
}
