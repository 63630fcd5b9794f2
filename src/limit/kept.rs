//! A state that outlives its rule: in a file, in a database, or from an old rule to a new one.
//!
//! In memory a state is whatever its limiter computes with fastest; a bucket, for example, counts
//! in fractions that depend on its rate. What is [`Kept`] means the same whatever the numbers of
//! the limit: it is in plain units, and knows its [`Shape`].
//!
//! ```
//! use ratescope::limit::any::AnyLimiter;
//! use ratescope::limit::kept::Kept;
//! use ratescope::{Limiter, Time};
//!
//! let (old, now): (AnyLimiter, _) = ("gcra 10/1m".parse()?, Time::ZERO);
//! let mut state = old.initial();
//! (0..8).for_each(|_| old.charge(&mut state, now, 1.0));
//! let bytes = old.keep(&state, now).to_bytes();
//!
//! // The limit goes up: what was counted stays counted.
//! let new: AnyLimiter = "gcra 100/1m".parse()?;
//! let kept = Kept::from_bytes(&bytes)?;
//! assert_eq!(new.remaining(&new.restore(&kept)?, now), 92.0);
//!
//! // Another algorithm cannot go on with it, and says so.
//! let other: AnyLimiter = "exim 10/1m".parse()?;
//! let changed = other.restore(&kept).unwrap_err();
//! assert_eq!(changed.to_string(), "the algorithm changed from bucket to exim/1m: it starts anew");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a state becomes when its limit changes
//! | limiter | shape | what is kept | goes on when these change |
//! |---|---|---|---|
//! | [`exim`](super::exim) | `exim/PERIOD` | the rate, in events per period, and its time | count, mode |
//! | [`earrrl`](super::earrrl) | `earrrl/HALF-LIFE` | the impulse, in events, and its time | count, and the period where the half-life is said |
//! | [`token_bucket`](super::token_bucket), [`gcra`](super::gcra), [`leaky_bucket`](super::leaky_bucket) | `bucket` | what is missing or queued, in events, as of a time | count, period, burst or queue, which of the three |
//! | [`fixed_window`](super::fixed_window) | `fixed-window/PERIOD` | the window and its count | count |
//! | [`sliding_window`](super::sliding_window) | `sliding-window/PERIOD/PRECISION` | the blocks and their counts | count |
//! | [`sliding_counter`](super::sliding_counter) | `sliding-counter/PERIOD` | both counts and the time | count |
//! | [`sliding_log`](super::sliding_log) | `sliding-log/PERIOD` | the instants and their costs | count |
//! | [`adaptive`](super::adaptive) | `adaptive/DECAY/INCREASE` | the rate, the habit and their time | factor, floor, mode |
//! | [`by_hour`](super::by_hour) | `adaptive-by-hour/DECAY/INCREASE/DAY` | the same, and the habit of each hour | factor, floor, mode, offset |
//! | [`nginx`](super::nginx) | `nginx` | the excess, in thousandths of a request, and its millisecond | rate, burst, delay |
//! | [`haproxy`](super::haproxy) | `haproxy/PERIOD` | when the window began and both counts | count, what is counted |
//! | [`envoy`](super::envoy) | `envoy/INTERVAL` | when the bucket was empty | burst; the interval is that of one token |
//!
//! What goes on keeps the standing of its sender as Exim does, where the rate that was measured is
//! simply held against another limit: who was over a limit and still is over the new one stays
//! refused, and who is below it passes. For a bucket, what was missing stays missing, and comes
//! back at the new rate. That the token bucket, GCRA and the leaky bucket go on with each other's
//! states is no exception: they are one algorithm under three names, and decide alike.
//!
//! A change of shape starts anew, and [`Changed`] says what it was: a rate per minute is none per
//! hour. A log could go on over another period, but one that is longer would believe that nothing
//! came before the shorter one, so its period is part of its shape too.
//!
//! # Rounding
//! Under the same limit nothing is rounded: what is restored decides as what was kept would have,
//! at every instant and in the last bit. When a limit changes, there are three cases, each in
//! favour of the sender:
//! * **A bucket whose rate changes** forgets a fraction of a millionth of an event; where two rates
//!   take turns on one state, at each turn.
//! * **A bucket that becomes smaller** than half of what is missing holds twice its new size, the
//!   most that it may: nobody waits for longer than a full bucket and the event take to drain.
//! * **A log that becomes shorter** forgets what can't matter before it has left the period. If
//!   it then still has more entries than there is room for, which takes costs below 1, neighbours
//!   are merged at the time of the first.
//!
//! # Two generations of rules on one store
//! During a rolling deployment, processes with the old rules and with the new ones work on the
//! same states. They would reset each other's states for as long as that lasts, if they did not
//! agree on what these are. So **the shape belongs into the key**
//! ([`Policy::state_names`](crate::Policy::state_names)): rules of another shape have states of
//! their own, and rules of the same shape go on with each other's. [`VERSION`] belongs there too
//! where it is not in the value, so that builds that write different versions leave each other's
//! states alone. Old states are left to expire.
//!
//! A store writes back **only what an event has changed**. Then a bucket that is much smaller than
//! the one that filled the state refuses and leaves it as it is. It admits an event, and lowers
//! the state to what it believes, only after nothing was written for as long as it takes to drain
//! from twice its size.
//!
//! # The bytes
//! [`Kept::to_bytes`] writes the [`VERSION`], the length of the shape's text, that text, and the
//! content. A place that has shape and version in its key needs the content only
//! ([`Kept::write_content`]). Times (microseconds) and rates are eight bytes, little endian; whole
//! numbers and amounts as short as they are: seven bits a byte, the lowest first, the high bit set
//! in all but the last; an amount is twice its events, or else twice its millionths and one.
//!
//! | content | bytes | usually |
//! |---|---|---|
//! | exim | rate, time | 16 |
//! | earrrl | impulse, time | 16 |
//! | adaptive | rate, habit, time | 24 |
//! | adaptive-by-hour | rate, habit of the current hour, time; that hour, from 0; 24 f32, little endian: the habits of the hours, 0 for the current one | 121 |
//! | bucket | time, content, the numerator of a fraction of a millionth and, unless that is 0, its denominator | 10 to 15 |
//! | fixed-window | number of the window (with its sign as the lowest bit), count | 5 or 6 |
//! | sliding-counter | time, previous and current count | 10 to 12 |
//! | sliding-window | number of blocks; the first's number, as above, and count; the distance of each other from the one before, and its count | 5, and 2 a block in use |
//! | sliding-log | the same, with a microsecond for each block | 9, and 4 or 5 an event |
//! | nginx | excess, millisecond (each with its sign as the lowest bit) | 7 to 9 |
//! | haproxy | millisecond, current and previous count | 8 to 10 |
//! | envoy | day, seconds | 16 |
//!
//! Numbers of any length are compact and need no choice of widths. Reading them where only f64
//! exists is a loop of a line, and exact in the domain of [`in_f64`](super::in_f64).

mod bytes;
mod content;
mod shape;

pub(super) use content::{Content, Filled};
pub(super) use shape::Algorithm;
pub use shape::Shape;

use super::Limiter;
use super::any::{AnyLimiter, AnyState};
use super::in_f64::InF64;
use crate::text::{BadNumber, ParseError};
use crate::time::Time;
use bytes::{Reader, put_whole};
use core::fmt;

/// The version of the bytes. It only rises: bytes of a later one are an error, and not to be
/// replaced.
pub const VERSION: u8 = 1;

/// A state in plain units, which means the same whatever the numbers of its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    shape: Shape,
    content: Content,
}

/// What every limiter does to have its states kept.
pub(super) trait Keep: Limiter {
    fn shape(&self) -> Shape;

    /// The state in plain units, as of `now`.
    fn keep(&self, state: &Self::State, now: Time) -> Content;

    /// The state out of what is kept; `None` when that is of another algorithm.
    fn restore(&self, content: &Content) -> Option<Self::State>;

    /// See [`AnyLimiter::exact_in_f64`].
    fn exact_in_f64(&self) -> Result<(), BadNumber>;

    /// See [`AnyLimiter::in_f64`].
    fn in_f64(&self) -> Option<InF64> {
        None
    }
}

impl AnyLimiter {
    /// `state` in plain units. What drains from a bucket until `now` does so at the rate of this
    /// limit, and later at that of the limit for which it is restored.
    ///
    /// It holds all that the state holds: [`forget`](Self::forget) first what no longer counts.
    pub fn keep(&self, state: &AnyState, now: Time) -> Kept {
        Kept { shape: self.shape(), content: self.content(state, now) }
    }

    /// The state out of what was kept, by this limit or by another one of the same shape.
    ///
    /// # Errors
    /// When the shape has changed: the sender then starts anew, with the
    /// [`initial`](Limiter::initial) state.
    pub fn restore(&self, kept: &Kept) -> Result<AnyState, Changed> {
        let (from, to) = (kept.shape, self.shape());
        let what = from.difference(&to);
        let changed = |what| Changed { what, from, to };
        match what {
            Some(what) => Err(changed(what)),
            None => self.state(&kept.content).ok_or_else(|| changed("algorithm")),
        }
    }
}

impl Kept {
    /// What is in a bucket, for a place that keeps it in a form of its own: `millionths` and the
    /// fraction `part / of` of one more, as of `at`. `None` where that is no fraction.
    #[cfg(feature = "redis")]
    pub(crate) fn filled(at: Time, millionths: u64, part: u64, of: u64) -> Option<Self> {
        let shape = Shape::new(Algorithm::Bucket, []);
        let content = Content::Filled(Filled { at, millionths, part, of });
        (part < of).then_some(Kept { shape, content })
    }

    /// What the state is made by.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// The whole as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = self.shape.to_string();
        let mut bytes = vec![VERSION];
        put_whole(&mut bytes, shape.len() as u128);
        bytes.extend(shape.as_bytes());
        self.write_content(&mut bytes);
        bytes
    }

    /// Reads what [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// When the bytes are anything else. Whatever they are, reading them does not panic, and
    /// takes no more memory than a few times their length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeptError> {
        let mut reader = Reader { bytes };
        let version = reader.byte("the version")?;
        if version != VERSION {
            return Err(KeptError::Version { found: version });
        }
        let length = reader.unsigned("the length of the shape")?;
        let shape = String::from_utf8_lossy(reader.take(length, "the shape")?);
        let shape = shape.parse().map_err(KeptError::Shape)?;
        let mut rest = reader.bytes;
        let kept = Self::read_content(shape, &mut rest)?;
        match rest.len() {
            0 => Ok(kept),
            bytes => Err(KeptError::Trailing { bytes }),
        }
    }

    /// Adds the content to `out`, for a place that knows shape and version.
    pub fn write_content(&self, out: &mut Vec<u8>) {
        self.content.write(out);
    }

    /// Reads what [`write_content`](Self::write_content) wrote from the beginning of `bytes`, which
    /// are then those that follow: several contents can be written one after the other.
    ///
    /// # Errors
    /// As for [`from_bytes`](Self::from_bytes); `bytes` then stay as they are.
    pub fn read_content(shape: Shape, bytes: &mut &[u8]) -> Result<Self, KeptError> {
        let mut reader = Reader { bytes };
        let content = Content::read(&shape, &mut reader)?;
        *bytes = reader.bytes;
        Ok(Kept { shape, content })
    }
}

/// Why a state does not go on under another limit: its shape has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    what: &'static str,
    from: Shape,
    to: Shape,
}

impl Changed {
    /// What has changed, as in `algorithm`, `period`, `precision` or `half-life`.
    pub fn what(&self) -> &'static str {
        self.what
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changed { what, from, to } = self;
        write!(f, "the {what} changed from {from} to {to}: it starts anew")
    }
}

impl core::error::Error for Changed {}

/// Why bytes are not a state, and which part of them is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeptError {
    /// The bytes end within a part.
    Truncated {
        /// Where they end.
        part: &'static str,
    },
    /// They are of another version than [`VERSION`]. A later one is not to be replaced.
    Version {
        /// The version that they say.
        found: u8,
    },
    /// Their shape is none that is known here.
    Shape(ParseError),
    /// A number is one that no state has.
    OutOfRange {
        /// What the number is.
        part: &'static str,
    },
    /// They go on after the state.
    Trailing {
        /// How many there are.
        bytes: usize,
    },
}

impl fmt::Display for KeptError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            KeptError::Truncated { part } => write!(f, "the bytes end within {part}"),
            KeptError::Version { found } => {
                write!(f, "the version is {found}, and this is read by version {VERSION}")
            }
            KeptError::Shape(error) => write!(f, "the shape is none: {error}"),
            KeptError::OutOfRange { part } => write!(f, "{part} is out of range"),
            KeptError::Trailing { bytes } => write!(f, "{bytes} bytes follow the state"),
        }
    }
}

impl core::error::Error for KeptError {}
