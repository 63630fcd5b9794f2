//! Shapes: what gives the numbers of a state their meaning.

use crate::text::ParseError;
use crate::time::Span;
use core::fmt;
use core::str::FromStr;

/// What a state must be read with: the algorithm, and the spans that its numbers refer to.
///
/// A limiter may change and keep its states as long as its shape stays the same. Numbers that are
/// not in the shape (count, burst, queue, factor, floor, mode) are only compared with a state. In a
/// store that outlives the rules, the shape belongs in the key: see [`kept`](super).
///
/// Its text form is the name of the algorithm and its spans, as in `exim/1m`, `bucket` or
/// `sliding-window/1h/1m`. The token bucket, GCRA and the leaky bucket are one algorithm, `bucket`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    pub(super) algorithm: Algorithm,
    /// The spans of the algorithm; the rest are zero.
    spans: [Span; 3],
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(in crate::limit) enum Algorithm {
    Exim,
    Earrrl,
    Bucket,
    FixedWindow,
    SlidingWindow,
    SlidingCounter,
    SlidingLog,
    Adaptive,
    ByHour,
    Nginx,
    Haproxy,
    Envoy,
}

/// Each algorithm with its name and the names of its spans.
const ALGORITHMS: &[(Algorithm, &str, &[&str])] = &[
    (Algorithm::Exim, "exim", &["period"]),
    (Algorithm::Earrrl, "earrrl", &["half-life"]),
    (Algorithm::Bucket, "bucket", &[]),
    (Algorithm::FixedWindow, "fixed-window", &["period"]),
    (Algorithm::SlidingWindow, "sliding-window", &["period", "precision"]),
    (Algorithm::SlidingCounter, "sliding-counter", &["period"]),
    (Algorithm::SlidingLog, "sliding-log", &["period"]),
    (Algorithm::Adaptive, "adaptive", &["decay", "increase"]),
    (Algorithm::ByHour, "adaptive-by-hour", &["decay", "increase", "day"]),
    (Algorithm::Nginx, "nginx", &[]),
    (Algorithm::Haproxy, "haproxy", &["period"]),
    (Algorithm::Envoy, "envoy", &["interval of a token"]),
];

impl Algorithm {
    fn row(self) -> (&'static str, &'static [&'static str]) {
        let row = ALGORITHMS.iter().find(|(algorithm, ..)| *algorithm == self);
        row.map_or(("", &[]), |(_, name, spans)| (name, spans))
    }
}

impl Shape {
    /// An algorithm with its spans, in the order of [`ALGORITHMS`].
    pub(in crate::limit) fn new<const N: usize>(algorithm: Algorithm, spans: [Span; N]) -> Self {
        let mut all = [Span::ZERO; 3];
        all.iter_mut().zip(spans).for_each(|(to, span)| *to = span);
        Shape { algorithm, spans: all }
    }

    /// What differs in `other`, such as `algorithm`, `period` or `half-life`; `None` when the two are
    /// equal.
    pub fn difference(&self, other: &Shape) -> Option<&'static str> {
        if self.algorithm != other.algorithm {
            return Some("algorithm");
        }
        let both = self.spans().iter().zip(other.spans());
        let at = both.into_iter().position(|(a, b)| a != b)?;
        self.algorithm.row().1.get(at).copied()
    }

    /// The width of a block in microseconds, for an algorithm that counts in blocks.
    pub(super) fn width(&self) -> Option<i64> {
        let width = match self.algorithm {
            Algorithm::FixedWindow => self.spans[0],
            Algorithm::SlidingWindow => self.spans[1],
            Algorithm::SlidingLog => Span::micros(1),
            _ => return None,
        };
        Some(width.micros_up())
    }

    fn spans(&self) -> &[Span] {
        self.spans.get(..self.algorithm.row().1.len()).unwrap_or(&[])
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.algorithm.row().0)?;
        self.spans().iter().try_for_each(|span| write!(f, "/{span}"))
    }
}

impl FromStr for Shape {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut parts = crate::text::parts(text, '/');
        let (_, name) = parts.next().unwrap_or((0, ""));
        let Some((algorithm, _, names)) = ALGORITHMS.iter().find(|row| row.1 == name) else {
            let known: Vec<_> = ALGORITHMS.iter().map(|row| row.1).collect();
            let help = format!("not an algorithm; one of {}", known.join(", "));
            return Err(ParseError::new(text, 0..name.len(), help));
        };
        let help = || {
            let slashed: String = names.iter().map(|span| format!("/{span}")).collect();
            format!("write {name}{slashed}")
        };
        let mut shape = Shape::new(*algorithm, []);
        for (to, _) in shape.spans.iter_mut().zip(*names) {
            let Some((from, span)) = parts.next() else {
                return Err(ParseError::whole(text, format!("a span is missing; {}", help())));
            };
            *to = span.parse().map_err(|e: ParseError| e.inside(text, from))?;
            if *to == Span::ZERO {
                let at = from..from + span.len();
                return Err(ParseError::new(text, at, "a span of zero shapes nothing"));
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
