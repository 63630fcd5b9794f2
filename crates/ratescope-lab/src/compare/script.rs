//! The text form of scripted events.
//!
//! ```text
//! 1 at 0s, 1/600ms to 150s, 1 at 150s, 1/1s from 150s
//! 2/1s poisson from 10s to 1m cost 5 user alice
//! 9 clients of 20 retry exponential 1s full, 1 client of 20 retry at once user rude
//! ```
//!
//! Events come in phases, separated by commas. A phase is a number of events at one instant, or a rate with a
//! [pattern](Pattern), by default steady, from one instant up to another, which is excluded. A phase with a rate is a
//! stream of [`Traffic`](crate::traffic::Traffic); its seed is the seed of the settings plus the number of the phase,
//! counted from 1. A phase may also be some clients with a [`Job`], each a user of its own; their requests depend on
//! the decisions of a lane. The first event of a steady stream comes one interval after its `from`, so the first line
//! above adds an event at that instant itself.

use crate::clients::{CLIENTS, Job};
use crate::run::Source;
use crate::traffic::Pattern;
use core::fmt;
use core::str::FromStr;
use ratescope::internal::{Word, Words, number, parts};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};

/// The most phases of a script.
pub const PHASES: usize = 16;

/// The most events of one phase at one instant.
pub const BURST: u32 = 10_000;

/// The most events a second of one phase.
const FASTEST: f64 = 1e4;

/// Scripted events. The default has none; its text is empty.
#[derive(Clone, Debug, PartialEq)]
pub struct Script {
    /// The phases, in the order of the text.
    pub phases: Vec<Phase>,
    /// The names of the users. The first, empty name is the user of phases without a user, of clicks and of generated
    /// events.
    pub users: Vec<String>,
}

/// One phase.
#[derive(Clone, Debug, PartialEq)]
pub struct Phase {
    /// When its events come.
    pub when: When,
    /// The cost of each, from 0 to 10^6.
    pub cost: f64,
    /// The sender, for clients the first: an index into [`Script::users`].
    pub user: u32,
}

/// When the events of a phase come.
#[derive(Clone, Debug, PartialEq)]
pub enum When {
    /// Several at one instant, at most [`BURST`].
    Burst {
        /// How many.
        count: u32,
        /// How long after the start of the run.
        at: Span,
    },
    /// Clients that try again, in each lane by themselves.
    Clients(Job),
    /// A stream.
    Flow {
        /// The rate, up to 10,000 a second.
        rate: Rate,
        /// How the events are spaced.
        pattern: Pattern,
        /// When the stream begins, after the start of the run.
        from: Span,
        /// When it ends; `None` if never.
        to: Option<Span>,
    },
}

impl Default for Script {
    fn default() -> Self {
        Script { phases: Vec::new(), users: vec![String::new()] }
    }
}

const HELP: &str = "write phases such as 10 at 59s, or 1/600ms from 0s to 150s";

impl FromStr for Script {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut script = Script::default();
        if text.trim().is_empty() {
            return Ok(script);
        }
        for (from, part) in parts(text, ',') {
            script.phase(part).map_err(|e| e.inside(text, from))?;
            if script.phases.len() > PHASES {
                let help = format!("more than {PHASES} phases");
                return Err(ParseError::new(text, from..from + part.len(), help));
            }
        }
        Ok(script)
    }
}

impl Script {
    fn phase(&mut self, text: &str) -> Result<(), ParseError> {
        let mut words = Words::new(text);
        let Some(first) = words.next_word() else {
            return Err(ParseError::whole(text, format!("a phase is missing; {HELP}")));
        };
        let cost = match words.option("cost")? {
            None => 1.0,
            Some(word) => number(word.text)
                .filter(|cost| (0.0..=1e6).contains(cost))
                .ok_or_else(|| words.wrong(word, "not a cost; choose from 0 to 1000000"))?,
        };
        let user = words.option("user")?;
        let is_job = words.rest().first().is_some_and(|w| w.is("clients") || w.is("client"));
        let mut clients = 0;
        let when = if is_job {
            let (job, count) = Job::read(&mut words, first)?;
            clients = count;
            When::Clients(job)
        } else if first.text.contains('/') {
            flow(&mut words, first)?
        } else {
            burst(&mut words, first)?
        };
        if let Some(word) = words.next_word() {
            return Err(words.wrong(word, format!("unexpected word; {HELP}")));
        }
        let named = user.map_or("", |word| word.text);
        let user = match user {
            None => 0,
            Some(word) if !word.text.chars().all(|c| c.is_ascii_alphanumeric()) => {
                return Err(words.wrong(word, "not a user; write letters and digits"));
            }
            Some(word) if clients == 0 => self.user(word.text),
            Some(_) => 0,
        };
        let mut phase = Phase { when, cost, user };
        if let When::Clients(job) = &mut phase.when {
            self.staff(job, clients, named).map_err(|help| words.wrong(first, help))?;
            phase.user = job.users.first().copied().unwrap_or(0);
        }
        self.phases.push(phase);
        Ok(())
    }

    /// Makes a job's clients users: of the given name, with a number if there are several, or else c1 and so on.
    fn staff(&mut self, job: &mut Job, count: u32, name: &str) -> Result<(), String> {
        let before: usize = self.jobs().map(|job| job.users.len()).sum();
        if before + count as usize > CLIENTS {
            return Err(format!("more than {CLIENTS} clients in all"));
        }
        name.clone_into(&mut job.name);
        for i in 1..=count as usize {
            let user = match name {
                "" => format!("c{}", before + i),
                _ if count == 1 => name.to_owned(),
                _ => format!("{name}{i}"),
            };
            job.users.push(self.user(&user));
        }
        let all: f64 = self.jobs().chain([&*job]).map(Job::fastest).sum();
        if all > FASTEST {
            return Err(format!(
                "all clients together send up to {all:.0} requests a second; 10000 are the most; \
                 write fewer, or a longer answer"
            ));
        }
        Ok(())
    }

    /// The jobs of clients.
    pub fn jobs(&self) -> impl Iterator<Item = &Job> {
        self.phases.iter().filter_map(|phase| match &phase.when {
            When::Clients(job) => Some(job),
            _ => None,
        })
    }

    /// The index of a user, who is added if unknown.
    fn user(&mut self, name: &str) -> u32 {
        let known = self.users.iter().position(|user| user == name);
        let place = known.unwrap_or(self.users.len());
        if known.is_none() {
            self.users.push(name.to_owned());
        }
        place as u32
    }
}

fn burst(words: &mut Words, first: Word) -> Result<When, ParseError> {
    let count = first.text.parse().ok().filter(|n| (1..=BURST).contains(n));
    let help = "not a number of events; write from 1 to 10000, or a rate such as 1/1s";
    let count = count.ok_or_else(|| words.wrong(first, help))?;
    match words.option("at")? {
        Some(word) => Ok(When::Burst { count, at: words.read(word)? }),
        None => Err(words.missing("when is missing; write at and a span, such as 10 at 59s")),
    }
}

fn flow(words: &mut Words, first: Word) -> Result<When, ParseError> {
    let rate: Rate = words.read(first)?;
    if !(rate.frequency() > 0.0 && rate.frequency() <= FASTEST) {
        return Err(words.wrong(first, "out of range; choose above 0 and up to 10000 a second"));
    }
    let from = match words.option("from")? {
        Some(word) => words.read(word)?,
        None => Span::ZERO,
    };
    let to = match words.option("to")? {
        Some(word) => {
            let to: Span = words.read(word)?;
            if to > from {
                Some(to)
            } else {
                return Err(words.wrong(word, "not after the beginning of the phase"));
            }
        }
        None => None,
    };
    let pattern = match words.next_word() {
        None => Pattern::Steady,
        Some(name) if name.text == "day-and-night" => match words.next_word() {
            None => words.read(name)?,
            Some(day) => {
                // Both words are read as one text.
                let both = format!("{} {}", name.text, day.text);
                both.parse().map_err(|e: ParseError| words.wrong(day, e.problem()))?
            }
        },
        Some(name) => words.read(name)?,
    };
    Ok(When::Flow { rate, pattern, from, to })
}

impl fmt::Display for Script {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, phase) in self.phases.iter().enumerate() {
            f.write_str(if i == 0 { "" } else { ", " })?;
            match &phase.when {
                When::Burst { count, at } => write!(f, "{count} at {at}")?,
                When::Clients(job) => job.fmt(f)?,
                When::Flow { rate, pattern, from, to } => {
                    rate.fmt(f)?;
                    if *pattern != Pattern::Steady {
                        write!(f, " {pattern}")?;
                    }
                    if *from != Span::ZERO {
                        write!(f, " from {from}")?;
                    }
                    if let Some(to) = to {
                        write!(f, " to {to}")?;
                    }
                }
            }
            if phase.cost != 1.0 {
                write!(f, " cost {}", phase.cost)?;
            }
            let user = match &phase.when {
                When::Clients(job) => Some(&job.name).filter(|name| !name.is_empty()),
                _ => self.users.get(phase.user as usize),
            };
            match user {
                Some(name) if phase.user > 0 => write!(f, " user {name}")?,
                _ => {}
            }
        }
        Ok(())
    }
}

impl Phase {
    /// The events of the phase from `now` on; a running stream starts again at `now`. `None` for a burst before `now`.
    /// A stream that has ended is a source without events. Clients are none: see [`Crowd`](crate::clients::Crowd).
    pub(super) fn source(&self, seed: u64, now: Time) -> Option<Source> {
        let source = match self.when {
            When::Burst { count, at } => {
                let at = Time::ZERO.after(at);
                (at >= now).then(|| Source::burst(count, at))
            }
            When::Clients(_) => None,
            When::Flow { rate, pattern, from, to } => {
                let from = Time::ZERO.after(from).max(now);
                let to = to.map_or(Time::LAST, |to| Time::ZERO.after(to));
                Source::flow(pattern, rate.frequency(), seed, from, to).ok()
            }
        };
        source.map(|source| source.sent_by(self.user, self.cost))
    }
}
