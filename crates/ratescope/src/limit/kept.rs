//! States that outlive their limiter: in a file, in a database, or from an old rule to a new one.
//!
//! In memory a state has the units in which its limiter computes fastest; a bucket, for example,
//! counts in fractions that depend on its rate. A [`Kept`] state is in plain units and knows its
//! [`Shape`], so it means the same whatever the numbers of the limit.
//!
//! ```
//! use ratescope::limit::any::AnyLimiter;
//! use ratescope::limit::kept::Kept;
//! use ratescope::{Limiter, Time};
//!
//! let (old, now): (AnyLimiter, _) = ("gcra 10/1m".parse()?, Time::ZERO);
//! let mut state = old.initial();
//! (0..8).for_each(|_| old.record(&mut state, now, 1.0, true));
//! let bytes = old.keep(&state, now).to_bytes();
//!
//! // The limit goes up, and the counted events stay counted.
//! let new: AnyLimiter = "gcra 100/1m".parse()?;
//! let kept = Kept::from_bytes(&bytes)?;
//! assert_eq!(new.remaining(&new.restore(&kept)?, now), 92.0);
//!
//! // Another algorithm cannot use it, and says so.
//! let other: AnyLimiter = "exim 10/1m".parse()?;
//! let changed = other.restore(&kept).unwrap_err();
//! assert_eq!(changed.to_string(), "the algorithm changed from bucket to exim/1m: it starts over");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # What a state becomes when its limit changes
//! | limiter | shape | what is kept | goes on when these change |
//! |---|---|---|---|
//! | [`fixed_window`](super::fixed_window) | `fixed-window/PERIOD` | the beginning of the window and its count | count, beginning |
//! | [`sliding_window`](super::sliding_window) | `sliding-window/PERIOD/PRECISION` | the blocks and their counts | count |
//! | [`sliding_counter`](super::sliding_counter) | `sliding-counter/PERIOD` | both counts and the time | count |
//! | [`sliding_log`](super::sliding_log) | `sliding-log/PERIOD` | the instants and their costs | count |
//! | [`token_bucket`](super::token_bucket), [`gcra`](super::gcra), [`leaky_bucket`](super::leaky_bucket) | `bucket` | what is missing or queued, in events, as of a time | count, period, burst or queue, which of the three |
//! | [`exim`](super::exim) | `exim/PERIOD` | the rate, in events per period, and its time | count, mode |
//! | [`earrrl`](super::earrrl) | `earrrl/HALF-LIFE` | the impulse, in events, and its time | count, and the period if the half-life is given |
//! | [`adaptive`](super::adaptive) | `adaptive/DECAY/INCREASE` | the rate, the habit and their time | factor, floor, mode |
//! | [`by_hour`](super::by_hour) | `adaptive-by-hour/DECAY/INCREASE/DAY` | the rate and its time, and the habit of each hour | factor, floor, mode, offset |
//! | [`nginx`](super::nginx) | `nginx` | the excess, in thousandths of a request, and its millisecond | rate, burst, delay |
//! | [`haproxy`](super::haproxy) | `haproxy/PERIOD` | when the window began and both counts | count, what is counted |
//! | [`envoy`](super::envoy) | `envoy/INTERVAL` | when the bucket was empty | burst; the interval is that of one token |
//! | [`fail2ban`](super::fail2ban) | `fail2ban/FINDTIME` | when the count began, the time of the last event or the end of the ban, and the count | count, ban |
//!
//! A state with the same shape goes on, as in Exim: the measured rate is compared with the new limit. A sender over the
//! new limit stays refused, and a sender below it passes. In a bucket, the missing events stay missing and come back at
//! the new rate. The token bucket, GCRA and the leaky bucket share states because they are one algorithm under three
//! names and decide alike.
//!
//! When the shape changes, a sender starts with a new state, and [`Changed`] says what changed: a rate per minute is
//! not a rate per hour. A log of a shorter period lacks the earlier entries that a longer period needs, so the period
//! is part of its shape.
//!
//! # Rounding
//! Under the same limit nothing is rounded: the restored state decides as the kept one, at every
//! instant and to the last bit. For a bucket, the time of keeping then counts as its latest event.
//! When a limit changes, there are three cases, each in favour of the sender:
//! * **A bucket whose rate changes** loses a fraction of a millionth of an event, at each change.
//! * **A log that becomes shorter** drops the entries that leave the period before they could matter.
//!   If there are still too many, which takes costs below 1, neighbours are merged at the time of
//!   the first.
//! * **A smaller burst of nginx** leaves a debt of at most one full bucket of the new size. With a smaller
//!   burst of Envoy, a larger debt looks like a clock that was set back, and the bucket is empty.
//!
//! # Two generations of rules on one store
//! During a rolling deployment, processes with the old rules and processes with the new rules use the same states. If
//! they did not agree on the meaning of a state, each would reset the states of the other. So **the shape belongs in
//! the key** ([`Policy::state_names`](crate::Policy::state_names)): rules of another shape have states of their own,
//! and rules of the same shape share theirs. [`VERSION`] belongs in the key, too, if it is not in the value: builds
//! that write different versions then leave each other's states alone. Only their expiry removes old states.
//!
//! A store writes back **only what an event has changed**. So a bucket that is much smaller than the one that filled
//! the state refuses, and leaves the state as it is, which drains by the numbers that counted it. Where it is certain
//! that the limit has changed, as after `MemoryStore::reload` or `MemoryStore::restore`, a bucket is cut to its new size.
//! [`AnyLimiter::restore`] cuts nothing: a content above the size is owed, and drains at the new rate.
//!
//! # The bytes
//! [`Kept::to_bytes`] writes the [`VERSION`], the length of the shape's text, that text, and the content. If shape and
//! version are in the key, the content is enough ([`Kept::write_content`]). Times (microseconds) and rates are eight
//! bytes, little endian. Whole numbers and amounts have seven bits a byte, the lowest first, with the high bit set in
//! all bytes but the last. An amount in whole events is written as twice their number, any other as twice its
//! millionths plus one.
//!
//! | content | bytes | usually |
//! |---|---|---|
//! | exim | rate, time | 16 |
//! | earrrl | impulse, time | 16 |
//! | adaptive | rate, habit, time | 24 |
//! | adaptive-by-hour | rate, habit of the current hour, time; the current hour, from 0; 24 f32, little endian: the habits of the hours, 0 for the current one | 121 |
//! | bucket | time, content, the numerator of a fraction of a millionth and, unless the numerator is 0, the denominator | 10 to 15 |
//! | fixed-window | time, count | 9 or 10 |
//! | sliding-counter | time, previous and current count | 10 to 12 |
//! | sliding-window | how many blocks; the number (signed as above) and count of the first; for each other block its distance from the one before, and its count | 5, and 2 a block in use |
//! | sliding-log | the same, with blocks of a microsecond | 9, and 4 or 5 an event |
//! | nginx | excess, millisecond (each with its sign as the lowest bit) | 7 to 9 |
//! | haproxy | millisecond, current and previous count | 8 to 10 |
//! | envoy | day, seconds | 16 |
//! | fail2ban | beginning of the count, time of the last event, count (0 for a ban) | 17 |
//!
//! Numbers of variable length are compact. A program that has only f64 reads them in a loop of one
//! line, exactly in the domain of [`in_f64`](super::in_f64).

mod bytes;
mod shape;

use alloc::string::{String, ToString};
use alloc::vec::Vec;
pub use shape::Shape;

pub(super) use bytes::{Bytes, Content, within};
pub(super) use shape::Kind;

use super::Limiter;
use super::algorithm::Algorithm;
use super::any::{AnyLimiter, AnyState};
use super::bucket::Filled;
use crate::text::ParseError;
use crate::time::Time;
use core::fmt;

/// The version of the bytes. It only rises. Bytes of a later version are an error, and must not be
/// overwritten.
pub const VERSION: u8 = 1;

/// A state in plain units. It means the same whatever the numbers of its limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Kept {
    shape: Shape,
    content: Content,
}

impl AnyLimiter {
    /// `state` in plain units. Until `now` a bucket drains at the rate of this limiter, and later at
    /// the rate of the limiter that restores it.
    ///
    /// The result contains the whole state: call [`forget`](crate::Limiter::forget) first to drop entries that
    /// no longer count.
    pub fn keep(&self, state: &AnyState, now: Time) -> Kept {
        let mut content = Content::default();
        self.write(state, now, &mut content);
        Kept { shape: self.shape(), content }
    }

    /// The state that was kept by this limiter or by another one of the same shape.
    ///
    /// # Errors
    /// When the shape has changed: the sender then starts over, with the
    /// [`initial`](crate::Limiter::initial) state.
    pub fn restore(&self, kept: &Kept) -> Result<AnyState, Changed> {
        let from = kept.shape;
        let to = self.shape();
        let changed = |what| Changed { what, from, to };
        if let Some(what) = from.difference(&to) {
            return Err(changed(what));
        }
        let mut bytes = Bytes { rest: &kept.content.0 };
        self.state(&mut bytes).map_err(|_| changed("algorithm"))
    }
}

/// A limiter whose states can be saved: every limiter with a text form, and [`AnyLimiter`].
pub trait Keeps: Limiter {
    /// The shape of its states.
    fn kept_shape(&self) -> Shape;

    /// Appends the content of a state, as [`Kept::write_content`] does.
    fn write_state(&self, state: &Self::State, now: Time, out: &mut Vec<u8>);

    /// The state as of `now`, for a limiter with other numbers.
    #[doc(hidden)]
    fn as_of(&self, state: &Self::State, _now: Time) -> Self::State {
        state.clone()
    }

    /// Its text, which tells whether another limiter saved a state.
    #[doc(hidden)]
    fn numbers(&self) -> String;

    /// Cuts a state to the room of this limiter, which may be smaller than the one that counted it.
    #[doc(hidden)]
    fn cut(&self, state: &mut Self::State);

    /// Reads a state that a limiter of the same shape has written from the beginning of `bytes`, and
    /// advances `bytes` past it.
    ///
    /// # Errors
    /// When the bytes begin with anything else. Reading any bytes does not panic.
    fn read_state(&self, bytes: &mut &[u8]) -> Result<Self::State, KeptError>;
}

impl<L: Algorithm> Keeps for L {
    fn kept_shape(&self) -> Shape {
        self.shape()
    }

    fn write_state(&self, state: &L::State, now: Time, out: &mut Vec<u8>) {
        Content::append(out, |content| self.keep(state, now, content));
    }

    fn as_of(&self, state: &L::State, now: Time) -> L::State {
        Algorithm::as_of(self, state, now)
    }

    fn numbers(&self) -> String {
        self.to_string()
    }

    fn cut(&self, state: &mut L::State) {
        Algorithm::cut(self, state);
    }

    fn read_state(&self, bytes: &mut &[u8]) -> Result<L::State, KeptError> {
        Bytes::read(bytes, |bytes| self.restore(bytes))
    }
}

/// The state of `old` at `now`, for `new`; `None` if their shapes differ.
#[cfg(feature = "std")]
pub(crate) fn converted<L: Keeps>(
    old: &L,
    state: &L::State,
    now: Time,
    new: &L,
) -> Option<L::State> {
    if old.kept_shape() != new.kept_shape() {
        return None;
    }
    let mut bytes = Vec::new();
    old.write_state(&old.as_of(state, now), now, &mut bytes);
    new.read_state(&mut bytes.as_slice()).ok()
}

impl Keeps for AnyLimiter {
    fn kept_shape(&self) -> Shape {
        self.shape()
    }

    fn write_state(&self, state: &AnyState, now: Time, out: &mut Vec<u8>) {
        Content::append(out, |content| self.write(state, now, content));
    }

    fn as_of(&self, state: &AnyState, now: Time) -> AnyState {
        self.drained(state, now)
    }

    fn numbers(&self) -> String {
        self.to_string()
    }

    fn cut(&self, state: &mut AnyState) {
        self.cut_any(state);
    }

    fn read_state(&self, bytes: &mut &[u8]) -> Result<AnyState, KeptError> {
        Bytes::read(bytes, |bytes| self.state(bytes))
    }
}

impl Kept {
    /// The state of a bucket, from a store with a form of its own: `millionths`, and the fraction `part / of` of
    /// another millionth, as of `at`. `None` unless `part` is below `of`.
    pub fn filled(at: Time, millionths: u64, part: u64, of: u64) -> Option<Self> {
        let mut content = Content::default();
        Filled { at, millionths, part, of }.write(&mut content);
        (part < of).then_some(Kept { shape: Filled::shape(), content })
    }

    /// The state of a log or a window with these blocks, from a store with a form of its own.
    #[doc(hidden)]
    pub fn blocks(shape: Shape, blocks: impl IntoIterator<Item = (i64, u64)>) -> Self {
        let mut content = Content::default();
        super::history::Blocks::in_order(blocks).keep(&mut content);
        Kept { shape, content }
    }

    /// The shape of the state.
    pub fn shape(&self) -> Shape {
        self.shape
    }

    /// Version, shape and content as bytes.
    pub fn to_bytes(&self) -> Vec<u8> {
        let shape = self.shape.to_string();
        let mut bytes = Content(vec![VERSION]);
        bytes.whole(shape.len() as u64);
        [bytes.0.as_slice(), shape.as_bytes(), &self.content.0].concat()
    }

    /// Reads the bytes that [`to_bytes`](Self::to_bytes) wrote.
    ///
    /// # Errors
    /// When the bytes are anything else. Reading any bytes does not panic, and takes no more memory
    /// than a few dozen times their length.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeptError> {
        let mut bytes = Bytes { rest: bytes };
        let version = bytes.byte("the version")?;
        if version != VERSION {
            return Err(KeptError::Version { found: version });
        }
        let length = bytes.unsigned("the length of the shape")?;
        let shape = String::from_utf8_lossy(bytes.take(length, "the shape")?);
        let shape = shape.parse().map_err(KeptError::Shape)?;
        let kept = Self::read_content(shape, &mut bytes.rest)?;
        match bytes.rest.len() {
            0 => Ok(kept),
            bytes => Err(KeptError::Trailing { bytes }),
        }
    }

    /// Appends the content to `out`, without shape and version.
    pub fn write_content(&self, out: &mut Vec<u8>) {
        out.extend(&self.content.0);
    }

    /// Reads a content that [`write_content`](Self::write_content) wrote from the beginning of `bytes`, and
    /// advances `bytes` past it. So several contents can be written one after the other.
    ///
    /// # Errors
    /// As for [`from_bytes`](Self::from_bytes); `bytes` then stay as they are.
    pub fn read_content(shape: Shape, bytes: &mut &[u8]) -> Result<Self, KeptError> {
        let all = *bytes;
        Bytes::read(bytes, |bytes| (shape.kind.read)(&shape.spans, bytes))?;
        let content = &all[..all.len() - bytes.len()];
        Ok(Kept { shape, content: Content(content.to_vec()) })
    }
}

/// The reason why a limiter cannot use a state: the shape has changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Changed {
    what: &'static str,
    from: Shape,
    to: Shape,
}

impl Changed {
    /// The part that has changed, such as `algorithm`, `period`, `precision` or `half-life`.
    pub fn what(&self) -> &'static str {
        self.what
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Changed { what, from, to } = self;
        write!(f, "the {what} changed from {from} to {to}: it starts over")
    }
}

impl core::error::Error for Changed {}

/// Why bytes are not a state, and which part is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeptError {
    /// The bytes end within a part.
    Truncated {
        /// Where they end.
        part: &'static str,
    },
    /// The bytes have another version than [`VERSION`]. Bytes of a later version must not be overwritten.
    Version {
        /// The version in the bytes.
        found: u8,
    },
    /// The text of their shape cannot be read.
    Shape(ParseError),
    /// A number that no state can have.
    OutOfRange {
        /// The name of the number.
        part: &'static str,
    },
    /// A [limiter of your own](super::custom) has no state in plain units.
    Custom,
    /// More bytes follow the state.
    Trailing {
        /// How many bytes follow.
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
            KeptError::Shape(error) => write!(f, "the shape cannot be read: {error}"),
            KeptError::Custom => f.write_str("no bytes are the state of a custom limiter"),
            KeptError::OutOfRange { part } => write!(f, "{part} is out of range"),
            KeptError::Trailing { bytes } => write!(f, "{bytes} bytes follow the state"),
        }
    }
}

impl core::error::Error for KeptError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            KeptError::Shape(error) => Some(error),
            _ => None,
        }
    }
}
