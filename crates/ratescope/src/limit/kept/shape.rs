//! Shapes: what the numbers of a kept state refer to.

use super::{Bytes, KeptError};
use crate::limit::algorithm::Algorithm;
use crate::limit::any::KINDS;
use crate::limit::custom::Custom;
use crate::text::ParseError;
use crate::time::Span;
use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;
use core::hash::{Hash, Hasher};
use core::str::FromStr;

/// The meaning of a state: the algorithm, and the spans that its numbers refer to.
///
/// A limiter may change and keep its states as long as its shape stays the same. Numbers that are
/// not in the shape (count, burst, queue, factor, floor, mode) are only compared with a state. In a
/// store that outlives the rules, the shape belongs in the key: see [`kept`](super).
///
/// The text form is the name of the algorithm and its spans, as in `exim/1m`, `bucket` or
/// `sliding-window/1h/1m`. The token bucket, GCRA and the leaky bucket are one algorithm, `bucket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct Shape {
    pub(super) kind: &'static Kind,
    /// The spans of the kind; the rest are zero.
    pub(super) spans: Spans,
}

pub(in crate::limit) type Spans = [Span; 3];

/// A kind of kept state.
#[derive(Debug)]
pub(in crate::limit) struct Kind {
    /// The first word of the shape, unique among kinds.
    pub(in crate::limit) name: &'static str,
    /// The names of its spans.
    pub(in crate::limit) spans: &'static [&'static str],
    /// Reads past a state of a shape with these spans; an error when the bytes do not begin with one.
    pub(in crate::limit) read: fn(&Spans, &mut Bytes<'_>) -> Result<(), KeptError>,
}

impl PartialEq for Kind {
    fn eq(&self, other: &Kind) -> bool {
        self.name == other.name
    }
}

impl Eq for Kind {}

impl Hash for Kind {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl Shape {
    /// The shape of this kind with these spans, at most three.
    pub(in crate::limit) fn new<const N: usize>(kind: &'static Kind, spans: [Span; N]) -> Self {
        let mut all = [Span::ZERO; 3];
        for (to, span) in all.iter_mut().zip(spans) {
            *to = span;
        }
        Shape { kind, spans: all }
    }

    /// False for the states of a [limiter of your own](crate::limit::custom), which no other limiter can use.
    pub(crate) fn can_be_kept(&self) -> bool {
        self.kind != Custom::KIND
    }

    /// The part that differs in `other`, such as `algorithm`, `period` or `half-life`; `None` when the two are
    /// equal.
    pub fn difference(&self, other: &Shape) -> Option<&'static str> {
        if self.kind != other.kind || !self.can_be_kept() {
            return Some("algorithm");
        }
        let mut both = self.spans.iter().zip(other.spans);
        let at = both.position(|(a, b)| *a != b)?;
        self.kind.spans.get(at).copied()
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.kind.name)?;
        for (span, _) in self.spans.iter().zip(self.kind.spans) {
            write!(f, "/{span}")?;
        }
        Ok(())
    }
}

impl FromStr for Shape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parts = crate::text::parts(text, '/');
        let (_, name) = parts.next().unwrap_or((0, ""));
        let Some(kind) = KINDS.iter().find(|kind| kind.name == name) else {
            let mut known: Vec<_> = KINDS.iter().map(|kind| kind.name).collect();
            known.dedup();
            let help = format!("not an algorithm; one of {}", known.join(", "));
            return Err(ParseError::new(text, 0..name.len(), help));
        };
        let help = || {
            let slashed: String = kind.spans.iter().map(|span| format!("/{span}")).collect();
            format!("write {name}{slashed}")
        };
        let mut shape = Shape::new(kind, []);
        for (to, _) in shape.spans.iter_mut().zip(kind.spans) {
            let Some((from, span)) = parts.next() else {
                return Err(ParseError::whole(text, format!("a span is missing; {}", help())));
            };
            *to = span.parse().map_err(|e: ParseError| e.inside(text, from))?;
            if *to == Span::ZERO {
                let at = from..from + span.len();
                return Err(ParseError::new(text, at, "a span must be longer than zero"));
            }
        }
        match parts.next() {
            None => Ok(shape),
            Some((from, _)) => {
                let help = format!("more than it has; {}", help());
                Err(ParseError::new(text, from.saturating_sub(1)..text.len(), help))
            }
        }
    }
}
