//! Writing and reading the numbers of a state, byte by byte.
//!
//! Whole numbers are written with seven bits a byte, the lowest first, and the high bit set in all
//! bytes but the last. Most of them are small, and a reader in any language is five lines. Times and
//! rates are eight bytes, little endian, since they rarely fit in fewer.

use super::KeptError;
use crate::time::Time;

/// Millionths in an event.
const EVENT: u64 = 1_000_000;

/// The longest whole number: 65 bits.
const LONGEST: usize = 10;

/// Writes a whole number.
pub(super) fn put_whole(out: &mut Vec<u8>, mut n: u128) {
    while n >= 0x80 {
        out.push(n as u8 | 0x80);
        n >>= 7;
    }
    out.push(n as u8);
}

/// Writes a whole number with its sign as the lowest bit.
pub(super) fn put_signed(out: &mut Vec<u8>, n: i64) {
    put_whole(out, u128::from((n << 1 ^ n >> 63) as u64));
}

/// Writes an amount: whole events as twice their number, anything else as twice its millionths plus
/// one. Most costs are whole, and take a byte or two instead of three or four.
pub(super) fn put_amount(out: &mut Vec<u8>, amount: u64) {
    put_whole(
        out,
        match amount % EVENT {
            0 => u128::from(amount / EVENT) << 1,
            _ => u128::from(amount) << 1 | 1,
        },
    );
}

pub(super) fn put_time(out: &mut Vec<u8>, time: Time) {
    out.extend(time.as_micros().to_le_bytes());
}

pub(super) fn put_rate(out: &mut Vec<u8>, rate: f64) {
    out.extend(rate.to_le_bytes());
}

/// Writes a rate in f32.
pub(super) fn put_habit(out: &mut Vec<u8>, habit: f32) {
    out.extend(habit.to_le_bytes());
}

/// Reads a state; errors name the part that was being read.
#[derive(Debug)]
pub(super) struct Reader<'a> {
    pub(super) bytes: &'a [u8],
}

impl<'a> Reader<'a> {
    pub(super) fn take(&mut self, n: u64, part: &'static str) -> Result<&'a [u8], KeptError> {
        let at = usize::try_from(n).ok().and_then(|n| self.bytes.split_at_checked(n));
        let (taken, rest) = at.ok_or(KeptError::Truncated { part })?;
        self.bytes = rest;
        Ok(taken)
    }

    pub(super) fn byte(&mut self, part: &'static str) -> Result<u8, KeptError> {
        let (first, rest) = self.bytes.split_first().ok_or(KeptError::Truncated { part })?;
        self.bytes = rest;
        Ok(*first)
    }

    fn eight(&mut self, part: &'static str) -> Result<[u8; 8], KeptError> {
        let (first, rest) = self.bytes.split_first_chunk().ok_or(KeptError::Truncated { part })?;
        self.bytes = rest;
        Ok(*first)
    }

    fn whole(&mut self, part: &'static str) -> Result<u128, KeptError> {
        let mut n = 0;
        for i in 0..LONGEST {
            let byte = self.byte(part)?;
            n |= u128::from(byte & 0x7f) << (7 * i);
            if byte < 0x80 {
                // Each number has one form only: a last byte of zero is not the shortest.
                let shortest = byte > 0 || i == 0;
                return if shortest { Ok(n) } else { Err(KeptError::OutOfRange { part }) };
            }
        }
        Err(KeptError::OutOfRange { part })
    }

    pub(super) fn unsigned(&mut self, part: &'static str) -> Result<u64, KeptError> {
        u64::try_from(self.whole(part)?).map_err(|_| KeptError::OutOfRange { part })
    }

    pub(super) fn signed(&mut self, part: &'static str) -> Result<i64, KeptError> {
        let n = self.unsigned(part)?;
        Ok((n >> 1) as i64 ^ -((n & 1) as i64))
    }

    pub(super) fn amount(&mut self, part: &'static str) -> Result<u64, KeptError> {
        let n = self.whole(part)?;
        let amount = if n & 1 == 0 { (n >> 1) * u128::from(EVENT) } else { n >> 1 };
        u64::try_from(amount).map_err(|_| KeptError::OutOfRange { part })
    }

    pub(super) fn time(&mut self, part: &'static str) -> Result<Time, KeptError> {
        Ok(Time::from_micros(i64::from_le_bytes(self.eight(part)?)))
    }

    /// An instant in seconds, or minus infinity.
    pub(super) fn instant(&mut self, part: &'static str) -> Result<f64, KeptError> {
        let at = f64::from_le_bytes(self.eight(part)?);
        if at < f64::INFINITY { Ok(at) } else { Err(KeptError::OutOfRange { part }) }
    }

    /// A rate in f32, which is finite and not negative.
    pub(super) fn habit(&mut self, part: &'static str) -> Result<f32, KeptError> {
        let (first, rest) = self.bytes.split_first_chunk().ok_or(KeptError::Truncated { part })?;
        self.bytes = rest;
        let habit = f32::from_le_bytes(*first);
        let rate = habit >= 0.0 && habit.is_finite();
        if rate { Ok(habit) } else { Err(KeptError::OutOfRange { part }) }
    }

    /// A rate, which is finite and not negative.
    pub(super) fn rate(&mut self, part: &'static str) -> Result<f64, KeptError> {
        let rate = f64::from_le_bytes(self.eight(part)?);
        if rate >= 0.0 && rate.is_finite() { Ok(rate) } else { Err(KeptError::OutOfRange { part }) }
    }
}
