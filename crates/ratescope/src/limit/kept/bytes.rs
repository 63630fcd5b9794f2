//! Writes and reads the numbers of a state, byte by byte.
//!
//! Whole numbers are written with seven bits a byte, the lowest first, and the high bit set in all
//! bytes but the last. Most of them are small, and a reader in any language is five lines. Times and
//! rates are eight bytes, little endian, since they rarely fit in fewer.

use super::KeptError;
use crate::time::Time;
use alloc::vec::Vec;
use core::ops::RangeInclusive;

/// Millionths in an event.
const EVENT: u64 = 1_000_000;

/// The most bytes of a whole number: an amount has up to 65 bits, in ten bytes of seven bits.
const LONGEST: usize = 10;

/// The bytes of a state that is being written.
#[derive(Clone, Debug, Default, PartialEq)]
pub(in crate::limit) struct Content(pub(super) Vec<u8>);

impl Content {
    /// Calls `write`, which appends to the bytes in `out`.
    pub(super) fn append(out: &mut Vec<u8>, write: impl FnOnce(&mut Content)) {
        let mut content = Content(core::mem::take(out));
        write(&mut content);
        *out = content.0;
    }

    pub(in crate::limit) fn whole(&mut self, n: impl Into<u128>) -> &mut Self {
        let mut n = n.into();
        while n >= 0x80 {
            self.0.push(n as u8 | 0x80);
            n >>= 7;
        }
        self.0.push(n as u8);
        self
    }

    /// A whole number with its sign as the lowest bit.
    pub(in crate::limit) fn signed(&mut self, n: i64) -> &mut Self {
        self.whole((n << 1 ^ n >> 63) as u64)
    }

    /// An instant in whole milliseconds.
    pub(in crate::limit) fn millis(&mut self, n: i64) -> &mut Self {
        self.signed(n)
    }

    /// An amount: whole events as twice their number, anything else as twice its millionths plus one.
    /// Most costs are whole, and take a byte or two instead of three or four.
    pub(in crate::limit) fn amount(&mut self, amount: u64) -> &mut Self {
        self.whole(match amount % EVENT {
            0 => u128::from(amount / EVENT) << 1,
            _ => u128::from(amount) << 1 | 1,
        })
    }

    pub(in crate::limit) fn time(&mut self, time: Time) -> &mut Self {
        self.0.extend(time.as_micros().to_le_bytes());
        self
    }

    pub(in crate::limit) fn rate(&mut self, rate: f64) -> &mut Self {
        self.0.extend(rate.to_le_bytes());
        self
    }

    pub(in crate::limit) fn count(&mut self, count: u32) -> &mut Self {
        self.whole(count)
    }

    pub(in crate::limit) fn instant(&mut self, seconds: f64) -> &mut Self {
        self.rate(seconds)
    }

    /// A rate in f32.
    pub(in crate::limit) fn habit(&mut self, habit: f32) -> &mut Self {
        self.0.extend(habit.to_le_bytes());
        self
    }
}

/// The bytes of a state that have not been read yet. Errors name the part that was being read.
#[derive(Debug)]
pub(in crate::limit) struct Bytes<'a> {
    pub(super) rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    /// Reads a value from the beginning of `bytes`, and advances them past it; on an error they stay.
    pub(super) fn read<T>(
        bytes: &mut &'a [u8],
        read: impl FnOnce(&mut Self) -> Result<T, KeptError>,
    ) -> Result<T, KeptError> {
        let mut after = Bytes { rest: bytes };
        let value = read(&mut after)?;
        *bytes = after.rest;
        Ok(value)
    }

    pub(in crate::limit) fn take(
        &mut self,
        n: u64,
        part: &'static str,
    ) -> Result<&'a [u8], KeptError> {
        let at = usize::try_from(n).ok().and_then(|n| self.rest.split_at_checked(n));
        let (taken, rest) = at.ok_or(KeptError::Truncated { part })?;
        self.rest = rest;
        Ok(taken)
    }

    pub(in crate::limit) fn byte(&mut self, part: &'static str) -> Result<u8, KeptError> {
        self.array(part).map(|[byte]| byte)
    }

    fn array<const N: usize>(&mut self, part: &'static str) -> Result<[u8; N], KeptError> {
        let (first, rest) = self.rest.split_first_chunk().ok_or(KeptError::Truncated { part })?;
        self.rest = rest;
        Ok(*first)
    }

    fn whole(&mut self, part: &'static str) -> Result<u128, KeptError> {
        let mut n = 0;
        for i in 0..LONGEST {
            let byte = self.byte(part)?;
            n |= u128::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                // Each number has one form only, the shortest: its last byte is not zero.
                let shortest = byte > 0 || i == 0;
                return if shortest { Ok(n) } else { Err(KeptError::OutOfRange { part }) };
            }
        }
        Err(KeptError::OutOfRange { part })
    }

    pub(in crate::limit) fn unsigned(&mut self, part: &'static str) -> Result<u64, KeptError> {
        u64::try_from(self.whole(part)?).map_err(|_| KeptError::OutOfRange { part })
    }

    pub(in crate::limit) fn signed(&mut self, part: &'static str) -> Result<i64, KeptError> {
        let n = self.unsigned(part)?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    pub(in crate::limit) fn amount(&mut self, part: &'static str) -> Result<u64, KeptError> {
        let n = self.whole(part)?;
        let amount = if n & 1 == 0 { (n >> 1) * u128::from(EVENT) } else { n >> 1 };
        u64::try_from(amount).map_err(|_| KeptError::OutOfRange { part })
    }

    pub(in crate::limit) fn time(&mut self, part: &'static str) -> Result<Time, KeptError> {
        Ok(Time::from_micros(i64::from_le_bytes(self.array(part)?)))
    }

    /// An instant in seconds, or minus infinity.
    pub(in crate::limit) fn instant(&mut self, part: &'static str) -> Result<f64, KeptError> {
        let at = f64::from_le_bytes(self.array(part)?);
        if at < f64::INFINITY { Ok(at) } else { Err(KeptError::OutOfRange { part }) }
    }

    /// A rate in f32, which is finite and not negative.
    pub(in crate::limit) fn habit(&mut self, part: &'static str) -> Result<f32, KeptError> {
        let habit = f32::from_le_bytes(self.array(part)?);
        if habit >= 0.0 && habit.is_finite() {
            Ok(habit)
        } else {
            Err(KeptError::OutOfRange { part })
        }
    }

    /// A rate, which is finite and not negative.
    pub(in crate::limit) fn rate(&mut self, part: &'static str) -> Result<f64, KeptError> {
        let rate = f64::from_le_bytes(self.array(part)?);
        if rate >= 0.0 && rate.is_finite() { Ok(rate) } else { Err(KeptError::OutOfRange { part }) }
    }

    pub(in crate::limit) fn count(&mut self, part: &'static str) -> Result<u32, KeptError> {
        u32::try_from(self.unsigned(part)?).map_err(|_| KeptError::OutOfRange { part })
    }

    /// A millisecond that a [`Time`] can have.
    pub(in crate::limit) fn millis(&mut self, part: &'static str) -> Result<i64, KeptError> {
        within(self.signed(part)?, i64::MIN / 1000 - 1..=i64::MAX / 1000, part)
    }

    /// The number of a block of `width` microseconds that a [`Time`] can be in. The bytes have the number itself or, if
    /// there is a block `before`, its distance from that block, at least 1.
    pub(in crate::limit) fn block(
        &mut self,
        width: i64,
        before: Option<i64>,
    ) -> Result<i64, KeptError> {
        let number = match before {
            None => Some(self.signed(BLOCK)?),
            Some(before) => match self.unsigned(BLOCK)? {
                0 => None,
                later => before.checked_add_unsigned(later),
            },
        };
        let number = number.ok_or(KeptError::OutOfRange { part: BLOCK })?;
        within(number, i64::MIN.div_euclid(width)..=i64::MAX / width, BLOCK)
    }
}

const BLOCK: &str = "the number of a block";

/// `n`, if it is in the range.
pub(in crate::limit) fn within(
    n: i64,
    range: RangeInclusive<i64>,
    part: &'static str,
) -> Result<i64, KeptError> {
    if range.contains(&n) { Ok(n) } else { Err(KeptError::OutOfRange { part }) }
}
