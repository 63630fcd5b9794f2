//! The content of a state in plain units, for each algorithm.

use super::KeptError;
use super::bytes::{Reader, put_amount, put_habit, put_rate, put_signed, put_time, put_whole};
use super::shape::{Algorithm, Shape};
use crate::estimate::exim::Measured;
use crate::estimate::recent_average::Impulse;
use crate::limit::adaptive::Habit;
use crate::limit::by_hour::{HOURS, Habits};
use crate::time::Time;
use core::ops::RangeInclusive;

/// The numbers of a state. Amounts are in millionths of an event.
#[derive(Clone, Debug, PartialEq)]
pub(in crate::limit) enum Content {
    Measured(Measured),
    Impulse(Impulse),
    Habit(Habit),
    /// The habits, and which hour of the day is the current one.
    Habits {
        habits: Box<Habits>,
        hour: usize,
    },
    Filled(Filled),
    Window {
        number: i64,
        counted: u64,
    },
    Counter {
        at: Time,
        previous: u64,
        current: u64,
    },
    /// The number of a block and the amount in it, oldest first.
    Blocks(Vec<(i64, u64)>),
    /// Thousandths of a request ahead of the rate, and the millisecond of the last request.
    Excess {
        thousandths: i64,
        last: i64,
    },
    /// The millisecond at which the window began, and two counts.
    Pair {
        began: i64,
        current: u32,
        previous: u32,
    },
    /// When the bucket was empty, in seconds of a clock, and the day at which that clock was set.
    Empty {
        day: Time,
        seconds: f64,
    },
}

/// The content of a bucket at an instant: `millionths` of an event, and the fraction `part / of` of
/// one more.
///
/// A fraction drains in a microsecond, so whole millionths alone would lose a little with every
/// event. `of` is the denominator of the rate in lowest terms.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(in crate::limit) struct Filled {
    pub(in crate::limit) at: Time,
    pub(in crate::limit) millionths: u64,
    pub(in crate::limit) part: u64,
    pub(in crate::limit) of: u64,
}

impl Content {
    pub(super) fn write(&self, out: &mut Vec<u8>) {
        match self {
            Content::Measured(Measured { rate, at }) => {
                put_rate(out, *rate);
                put_time(out, *at);
            }
            Content::Impulse(Impulse { size, at }) => {
                put_rate(out, *size);
                put_time(out, *at);
            }
            Content::Habit(Habit { rate, smoothed, at }) => {
                put_rate(out, *rate);
                put_rate(out, *smoothed);
                put_time(out, *at);
            }
            Content::Habits { habits, hour } => {
                let Habit { rate, smoothed, at } = habits.current;
                put_rate(out, rate);
                put_rate(out, smoothed);
                put_time(out, at);
                put_whole(out, *hour as u128);
                habits.hours.iter().for_each(|habit| put_habit(out, *habit));
            }
            Content::Filled(Filled { at, millionths, part, of }) => {
                put_time(out, *at);
                put_amount(out, *millionths);
                put_whole(out, u128::from(*part));
                if *part > 0 {
                    put_whole(out, u128::from(*of));
                }
            }
            Content::Window { number, counted } => {
                put_signed(out, *number);
                put_amount(out, *counted);
            }
            Content::Counter { at, previous, current } => {
                put_time(out, *at);
                put_amount(out, *previous);
                put_amount(out, *current);
            }
            Content::Blocks(blocks) => {
                put_whole(out, blocks.len() as u128);
                let mut before = None;
                for (number, amount) in blocks {
                    match before {
                        None => put_signed(out, *number),
                        Some(before) => put_whole(out, u128::from(number.abs_diff(before))),
                    }
                    put_amount(out, *amount);
                    before = Some(*number);
                }
            }
            Content::Excess { thousandths, last } => {
                put_signed(out, *thousandths);
                put_signed(out, *last);
            }
            Content::Pair { began, current, previous } => {
                put_signed(out, *began);
                put_whole(out, u128::from(*current));
                put_whole(out, u128::from(*previous));
            }
            Content::Empty { day, seconds } => {
                put_time(out, *day);
                put_rate(out, *seconds);
            }
        }
    }

    pub(super) fn read(shape: &Shape, reader: &mut Reader<'_>) -> Result<Self, KeptError> {
        Ok(match shape.algorithm {
            Algorithm::Exim => Content::Measured(Measured {
                rate: reader.rate("the rate")?,
                at: reader.time("the time")?,
            }),
            Algorithm::Earrrl => Content::Impulse(Impulse {
                size: reader.rate("the impulse")?,
                at: reader.time("the time")?,
            }),
            Algorithm::Adaptive => Content::Habit(Habit {
                rate: reader.rate("the rate")?,
                smoothed: reader.rate("the habit")?,
                at: reader.time("the time")?,
            }),
            Algorithm::ByHour => habits(reader)?,
            Algorithm::Bucket => Content::Filled(filled(reader)?),
            Algorithm::FixedWindow => Content::Window {
                number: block(shape, reader.signed(BLOCK)?)?,
                counted: reader.amount("the count")?,
            },
            Algorithm::SlidingCounter => Content::Counter {
                at: reader.time("the time")?,
                previous: reader.amount("the previous count")?,
                current: reader.amount("the current count")?,
            },
            Algorithm::SlidingWindow | Algorithm::SlidingLog => {
                Content::Blocks(blocks(shape, reader)?)
            }
            Algorithm::Nginx => Content::Excess {
                thousandths: within(reader.signed(EXCESS)?, -1000..=i64::MAX / 4, EXCESS)?,
                last: within(reader.signed(MILLIS)?, INSTANTS, MILLIS)?,
            },
            Algorithm::Haproxy => Content::Pair {
                began: within(reader.signed(MILLIS)?, INSTANTS, MILLIS)?,
                current: count(reader, "the current count")?,
                previous: count(reader, "the previous count")?,
            },
            Algorithm::Envoy => Content::Empty {
                day: reader.time("the day")?,
                seconds: reader.instant("when the bucket was empty")?,
            },
        })
    }
}

fn habits(reader: &mut Reader<'_>) -> Result<Content, KeptError> {
    let rate = reader.rate("the rate")?;
    let (smoothed, at) = (reader.rate("the habit")?, reader.time("the time")?);
    let hour = reader.byte("the hour")?;
    let mut hours = [0.0; HOURS];
    for habit in &mut hours {
        *habit = reader.habit("the habit of an hour")?;
    }
    match usize::from(hour) {
        hour @ 0..HOURS => {
            let habits = Box::new(Habits { current: Habit { rate, smoothed, at }, hours });
            Ok(Content::Habits { habits, hour })
        }
        _ => Err(KeptError::OutOfRange { part: "the hour" }),
    }
}

fn filled(reader: &mut Reader<'_>) -> Result<Filled, KeptError> {
    let at = reader.time("the time")?;
    let millionths = reader.amount("the content")?;
    let part = reader.unsigned(FRACTION)?;
    let of = if part > 0 { reader.unsigned(FRACTION)? } else { 1 };
    if part < of {
        Ok(Filled { at, millionths, part, of })
    } else {
        Err(KeptError::OutOfRange { part: FRACTION })
    }
}

const EXCESS: &str = "the excess";
const MILLIS: &str = "the millisecond";

/// The milliseconds that a time can lie in.
const INSTANTS: RangeInclusive<i64> = i64::MIN / 1000 - 1..=i64::MAX / 1000;

fn within(n: i64, range: RangeInclusive<i64>, part: &'static str) -> Result<i64, KeptError> {
    if range.contains(&n) { Ok(n) } else { Err(KeptError::OutOfRange { part }) }
}

fn count(reader: &mut Reader<'_>, part: &'static str) -> Result<u32, KeptError> {
    u32::try_from(reader.unsigned(part)?).map_err(|_| KeptError::OutOfRange { part })
}

const FRACTION: &str = "the fraction of the content";
const BLOCK: &str = "the number of a block";

/// `number`, if a [`Time`] can lie in the block of that number.
fn block(shape: &Shape, number: i64) -> Result<i64, KeptError> {
    let width = shape.width().unwrap_or(1);
    let first = i64::MIN.div_euclid(width);
    if (first..=i64::MAX / width).contains(&number) {
        Ok(number)
    } else {
        Err(KeptError::OutOfRange { part: BLOCK })
    }
}

fn blocks(shape: &Shape, reader: &mut Reader<'_>) -> Result<Vec<(i64, u64)>, KeptError> {
    const OUT_OF_RANGE: KeptError = KeptError::OutOfRange { part: BLOCK };
    let many = reader.unsigned("the number of blocks")?;
    // Not reserved: the bytes may claim more blocks than they hold.
    let mut blocks = Vec::new();
    for _ in 0..many {
        let number = match blocks.last() {
            None => reader.signed(BLOCK)?,
            Some((before, _)) => {
                let later = Some(reader.unsigned(BLOCK)?).filter(|&later| later > 0);
                let number = later.and_then(|later| i64::checked_add_unsigned(*before, later));
                number.ok_or(OUT_OF_RANGE)?
            }
        };
        blocks.push((block(shape, number)?, reader.amount("the count of a block")?));
    }
    Ok(blocks)
}
