//! The ways to try again: how long a client waits after a refusal.

use crate::traffic::Random;
use core::fmt;
use core::str::FromStr;
use ratescope::internal::{Word, Words, number};
use ratescope::text::ParseError;
use ratescope::time::Span;

/// The range of a base and of a most.
const SHORTEST: Span = Span::from_micros(1_000);
const LONGEST: Span = Span::from_hours(24);

/// How long a client waits before it sends a refused request again.
///
/// The names are those of Marc Brooker's "Exponential Backoff and Jitter" (AWS Architecture Blog, 2015). With the base b,
/// the factor f and the most M, the wait before retry k of a request, counted from 0, is
///
/// | text | wait |
/// |---|---|
/// | `never` | the request is given up |
/// | `at once` | 0 |
/// | `every 1s` | b |
/// | `exponential 1s x2 most 1m` | min(M, b f^k); `x2` and `most 1m` may be left out |
/// | `retry-after` | what the limiter says, in whole seconds, rounded up as in the header |
///
/// `full`, `equal` or `decorrelated` after these adds [`Jitter`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Way {
    /// A refused request is given up.
    Never,
    /// As soon as the answer is there.
    AtOnce,
    /// After the same wait each time.
    Every(Span, Jitter),
    /// After a wait that grows with each try.
    Exponential {
        /// The first wait.
        base: Span,
        /// The factor from wait to wait, from 1 to 10.
        factor: f64,
        /// The longest wait.
        most: Span,
        /// How the waits differ from client to client.
        jitter: Jitter,
    },
    /// As `Retry-After` says. A request that never passes is given up.
    RetryAfter(Jitter),
}

/// How a wait w is spread. U(a, b) is a uniform random number between a and b.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Jitter {
    /// w.
    #[default]
    None,
    /// U(0, w). With `retry-after`, which is the earliest time that makes sense, w + U(0, w).
    Full,
    /// w/2 + U(0, w/2). With `retry-after`, w + U(0, w/2).
    Equal,
    /// min(M, U(b, 3 times the last wait)), where the last wait before the first retry is b. Only with `exponential`,
    /// whose factor it does not use.
    Decorrelated,
}

impl Way {
    /// The wait in seconds before the next retry, and its value without jitter; `None` to give up. `last` has both of the
    /// last retry, if there was one, and `told` is what the limiter says.
    pub(super) fn wait(
        &self,
        last: Option<[f64; 2]>,
        told: impl FnOnce() -> Option<f64>,
        random: &mut Random,
    ) -> Option<[f64; 2]> {
        let (wait, jitter) = match *self {
            Way::Never => return None,
            Way::AtOnce => (0.0, Jitter::None),
            Way::Every(base, jitter) => (base.as_secs_f64(), jitter),
            Way::Exponential { base, most, jitter: Jitter::Decorrelated, .. } => {
                let [base, most] = [base, most].map(Span::as_secs_f64);
                let high = 3.0 * last.map_or(base, |[wait, _]| wait);
                ((base + (high - base) * random.uniform()).min(most), Jitter::None)
            }
            Way::Exponential { base, factor, most, jitter } => {
                let wait = last.map_or(base.as_secs_f64(), |[_, whole]| factor * whole);
                (wait.min(most.as_secs_f64()), jitter)
            }
            Way::RetryAfter(jitter) => (libm::ceil(told()?), jitter),
        };
        // Before the time that the limiter says, a retry makes no sense.
        let least = if matches!(self, Way::RetryAfter(_)) { wait } else { 0.0 };
        let spread = match jitter {
            Jitter::None | Jitter::Decorrelated => wait - least,
            Jitter::Full => wait * random.uniform(),
            Jitter::Equal if least > 0.0 => wait / 2.0 * random.uniform(),
            Jitter::Equal => wait / 2.0 * (1.0 + random.uniform()),
        };
        Some([least + spread, wait])
    }
}

/// How many of the words after `retry` are a way.
pub(crate) fn words(rest: &[Word<'_>]) -> usize {
    let is = |i: usize, names: &[&str]| {
        rest.get(i).is_some_and(|word| names.iter().any(|name| word.is(name)))
    };
    let mut n = 1;
    if is(0, &["at", "every", "exponential"]) {
        n = 2;
    }
    if is(0, &["exponential"]) {
        loop {
            let is_factor = rest.get(n).is_some_and(|word| word.text.starts_with(['x', 'X']));
            match () {
                () if is_factor => n += 1,
                () if is(n, &["most"]) => n += 2,
                () => break,
            }
        }
    }
    n + usize::from(is(n, &["full", "equal", "decorrelated"]))
}

const HELP: &str = "write never, at once, every 1s, exponential 1s x2 most 1m, or retry-after, and full for jitter";

impl FromStr for Way {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut words = Words::new(text);
        let Some(first) = words.next_word() else {
            return Err(ParseError::whole(text, format!("no way to try again; {HELP}")));
        };
        let word = words.flag(&["full", "equal", "decorrelated"]);
        let jitter = match word {
            None => Jitter::None,
            Some(word) if word.is("full") => Jitter::Full,
            Some(word) if word.is("equal") => Jitter::Equal,
            Some(_) => Jitter::Decorrelated,
        };
        let way = match first.text.to_ascii_lowercase().as_str() {
            "never" => Way::Never,
            "at" => match words.next_word() {
                Some(once) if once.is("once") => Way::AtOnce,
                _ => return Err(words.wrong(first, HELP)),
            },
            "every" => Way::Every(wait(&mut words, "such as every 1s")?, jitter),
            "exponential" => {
                let most = match words.option("most")? {
                    Some(word) => in_range(&words, word)?,
                    None => Span::from_mins(1),
                };
                let base = wait(&mut words, "such as exponential 1s")?;
                let factor = match words.next_word() {
                    None => 2.0,
                    Some(word) => number(word.text.trim_start_matches(['x', 'X']))
                        .filter(|factor| (1.0..=10.0).contains(factor))
                        .ok_or_else(|| words.wrong(word, "not a factor from x1 to x10"))?,
                };
                Way::Exponential { base, factor, most, jitter }
            }
            "retry-after" => Way::RetryAfter(jitter),
            _ => return Err(words.wrong(first, format!("not a way to try again; {HELP}"))),
        };
        let fits = match way {
            Way::Exponential { .. } => true,
            Way::Every(..) | Way::RetryAfter(_) => jitter != Jitter::Decorrelated,
            Way::Never | Way::AtOnce => jitter == Jitter::None,
        };
        match word {
            Some(word) if !fits => {
                let help = "this jitter does not go with this way; decorrelated goes with exponential, \
                    full and equal go with all that wait";
                return Err(words.wrong(word, help));
            }
            _ => {}
        }
        match words.next_word() {
            Some(word) => Err(words.wrong(word, format!("unexpected word; {HELP}"))),
            None => Ok(way),
        }
    }
}

fn wait(words: &mut Words, help: &str) -> Result<Span, ParseError> {
    match words.next_word() {
        Some(word) => in_range(words, word),
        None => Err(words.missing(format!("the wait is missing; write it, {help}"))),
    }
}

fn in_range(words: &Words, word: Word) -> Result<Span, ParseError> {
    let span = words.read(word)?;
    let help = || format!("out of range; choose from {SHORTEST} to {LONGEST}");
    if (SHORTEST..=LONGEST).contains(&span) { Ok(span) } else { Err(words.wrong(word, help())) }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let jitter = match *self {
            Way::Never => return f.write_str("never"),
            Way::AtOnce => return f.write_str("at once"),
            Way::Every(base, jitter) => {
                write!(f, "every {base}")?;
                jitter
            }
            Way::Exponential { base, factor, most, jitter } => {
                write!(f, "exponential {base} x{factor} most {most}")?;
                jitter
            }
            Way::RetryAfter(jitter) => {
                f.write_str("retry-after")?;
                jitter
            }
        };
        f.write_str(match jitter {
            Jitter::None => "",
            Jitter::Full => " full",
            Jitter::Equal => " equal",
            Jitter::Decorrelated => " decorrelated",
        })
    }
}
