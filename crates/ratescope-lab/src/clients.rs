//! Clients with a job, who try again when they are refused.
//!
//! A job is a number of requests. A client sends some of them at once, waits for each answer, pauses, and sends the
//! next. A refused request is sent again after a wait, until it passes; [`Way`] has the ways to wait. It is a closed
//! loop: the decision about a request determines when the next one comes, so each lane of a comparison has its own
//! [`Crowd`]. All crowds begin alike, from the same seed.
//!
//! ```
//! use ratescope_lab::compare::{Comparison, Link};
//!
//! // Two clients with five requests each, of which three pass in any second.
//! let link: Link = "limit=3/1s&lanes=sliding-log&auto=off&script=2 clients of 5 retry every 1s&at=10".parse()?;
//! let mut run = Comparison::open(&link)?;
//! run.advance(link.at, usize::MAX);
//! let crowd = run.lanes()[0].crowd().ok_or("no clients")?;
//! assert_eq!((crowd.passed(), crowd.left()), (10, 0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod crowd;
mod way;

pub use crowd::{Crowd, Flight};
pub use way::{Jitter, Way};

pub(crate) use way::words as words_of_way;

use core::fmt;
use core::ops::RangeInclusive;
use ratescope::internal::{Word, Words};
use ratescope::text::ParseError;
use ratescope::time::Span;

/// The most clients of a script.
pub const CLIENTS: usize = 50;

/// The range of the time that an answer takes.
const ANSWER: RangeInclusive<Span> = Span::from_micros(10_000)..=Span::from_mins(1);

/// The longest pause between requests.
const PAUSE: Span = Span::from_hours(1);

/// The most requests of a client.
const REQUESTS: u32 = 10_000;

/// The most requests that a client sends at once.
const TOGETHER: u32 = 10;

/// Some clients that have the same job, and try again in the same way.
///
/// The text form is `9 clients of 20 together 2 pause 1s answer 100ms at 5s retry exponential 1s x2 most 1m full`. All
/// but the first three words may be left out, in any order.
#[derive(Clone, Debug, PartialEq)]
pub struct Job {
    /// The users that the clients are in the script, one each.
    pub users: Vec<u32>,
    /// The user's name in the script, without the number of a client; empty if the script has none.
    pub(crate) name: String,
    /// How many requests each of them has to get through.
    pub requests: u32,
    /// How many of these a client sends before it waits for an answer.
    pub together: u32,
    /// How long a client waits after the answer to a request that passed, before the next.
    pub pause: Span,
    /// How long an answer takes, whatever it is.
    pub answer: Span,
    /// When they begin, after the start of the run.
    pub at: Span,
    /// How they try again.
    pub way: Way,
}

impl Job {
    /// Reads the words after `first`, the number of clients. The users are still missing.
    pub(crate) fn read(words: &mut Words, first: Word) -> Result<(Self, u32), ParseError> {
        let help = format!("not a number of clients; choose from 1 to {CLIENTS}");
        let clients = whole(words, first, 1..=CLIENTS as u32, &help)?;
        // The caller has seen this word.
        let _ = words.next_word();
        let way = match words.option_of("retry", words_of_way)? {
            Some(word) => words.read(word)?,
            None => Way::AtOnce,
        };
        let Some(of) = words.option("of")? else {
            let help =
                "the job is missing; write of and a number of requests, such as 10 clients of 20";
            return Err(words.missing(help));
        };
        let requests = whole(words, of, 1..=REQUESTS, "choose from 1 to 10000 requests")?;
        let together = match words.option("together")? {
            Some(word) => whole(words, word, 1..=TOGETHER, "choose from 1 to 10 at once")?,
            None => 1,
        };
        let pause = match words.option("pause")? {
            Some(word) => span(words, word, Span::ZERO..=PAUSE)?,
            None => Span::ZERO,
        };
        let answer = match words.option("answer")? {
            Some(word) => span(words, word, ANSWER)?,
            None => Span::from_micros(100_000),
        };
        let at = match words.option("at")? {
            Some(word) => words.read(word)?,
            None => Span::ZERO,
        };
        let (users, name) = (Vec::new(), String::new());
        Ok((Job { users, name, requests, together, pause, answer, at, way }, clients))
    }

    /// The most requests a second of all its clients.
    pub(crate) fn fastest(&self) -> f64 {
        self.users.len() as f64 * f64::from(self.together) / self.answer.as_secs_f64()
    }
}

fn whole(
    words: &Words,
    word: Word,
    range: RangeInclusive<u32>,
    help: &str,
) -> Result<u32, ParseError> {
    let value = word.text.parse().ok().filter(|n| range.contains(n));
    value.ok_or_else(|| words.wrong(word, help))
}

fn span(words: &Words, word: Word, range: RangeInclusive<Span>) -> Result<Span, ParseError> {
    let span = words.read(word)?;
    let help = || format!("out of range; choose from {} to {}", range.start(), range.end());
    if range.contains(&span) { Ok(span) } else { Err(words.wrong(word, help())) }
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Job { requests, together, pause, answer, at, way, .. } = self;
        let clients = self.users.len();
        write!(f, "{clients} client{} of {requests}", if clients == 1 { "" } else { "s" })?;
        if *together != 1 {
            write!(f, " together {together}")?;
        }
        if *pause != Span::ZERO {
            write!(f, " pause {pause}")?;
        }
        if *answer != Span::from_micros(100_000) {
            write!(f, " answer {answer}")?;
        }
        if *at != Span::ZERO {
            write!(f, " at {at}")?;
        }
        write!(f, " retry {way}")
    }
}
