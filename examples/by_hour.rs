//! Prints the table of `limit::by_hour`: what fixed, adaptive and by-hour limits refuse of a month of
//! made-up mail, people's by day and spam by night.
//!
//! `cargo run --release --features lab --example by_hour`

use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::traffic::{Pattern, Traffic};
use ratescope::{Limiter, ParseError, Span, Time};
use std::collections::{HashMap, HashSet};

const LIMITERS: [&str; 10] = [
    "exim 10/10m",
    "exim 40/10m",
    "exim 80/10m",
    "adaptive x3 decay 10m increase 7d floor 10",
    "adaptive x5 decay 10m increase 7d floor 10",
    "adaptive x10 decay 10m increase 7d floor 10",
    "adaptive x20 decay 10m increase 7d floor 10",
    "adaptive x3 decay 10m increase 7d floor 10 by hour",
    "adaptive x5 decay 10m increase 7d floor 10 by hour",
    "adaptive x10 decay 10m increase 7d floor 10 by hour",
];

/// The days that are counted come after those in which habits are learned.
const LEARNED: u32 = 14;
const DAYS: u32 = 28;

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
enum Sender {
    /// At the office from 8 or 9 to 17, five days of seven, at rates of 2 to 120 an hour.
    Person(u32),
    /// From 22 to 6, each day.
    Night(u32),
    /// A hundred within ten minutes, each night.
    Batch(u32),
    /// A steady 60 an hour, around the clock.
    Machine(u32),
    /// Never seen before.
    Stranger(u32),
}

struct Mail {
    at: Time,
    from: Sender,
    spam: bool,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mail = month()?;
    print!("{}", table(&mail)?);
    Ok(())
}

/// The table, in Markdown.
fn table(mail: &[Mail]) -> Result<String, ParseError> {
    let judged = || mail.iter().filter(|mail| mail.at >= day(LEARNED));
    let of = |spam: bool, night: bool| {
        judged().filter(move |m| m.spam == spam && is_night(m.at) == night)
    };
    let honest: HashSet<Sender> = judged().filter(|m| !m.spam).map(|m| m.from).collect();
    let mut table = format!(
        "| limiter | refused while learning, of {} | then by day, of {} | by night, of {} | senders touched, of {} | spam passed, of {} |\n\
         |---|--:|--:|--:|--:|--:|\n",
        mail.iter().filter(|m| !m.spam && m.at < day(LEARNED)).count(),
        of(false, false).count(),
        of(false, true).count(),
        honest.len(),
        judged().filter(|m| m.spam).count(),
    );
    for text in LIMITERS {
        let refused = refused(&text.parse()?, mail);
        let (before, after): (Vec<&Mail>, Vec<&Mail>) =
            refused.into_iter().partition(|m| m.at < day(LEARNED));
        let (spam, honest): (Vec<&Mail>, Vec<&Mail>) = after.into_iter().partition(|m| m.spam);
        let (nights, days): (Vec<&Mail>, Vec<&Mail>) =
            honest.iter().copied().partition(|m| is_night(m.at));
        let touched: HashSet<Sender> = honest.iter().map(|m| m.from).collect();
        let passed = judged().filter(|m| m.spam).count() - spam.len();
        table += &format!(
            "| `{text}` | {} | {} | {} | {} | {passed} |\n",
            before.len(),
            days.len(),
            nights.len(),
            touched.len(),
        );
    }
    Ok(table)
}

/// What is refused.
fn refused<'a>(limiter: &AnyLimiter, mail: &'a [Mail]) -> Vec<&'a Mail> {
    let mut states: HashMap<Sender, AnyState> = HashMap::new();
    let mut passes = |mail: &Mail| {
        let state = states.entry(mail.from).or_insert_with(|| limiter.initial());
        limiter.check(state, mail.at, 1.0).is_allowed()
    };
    mail.iter().filter(|mail| !passes(mail)).collect()
}

/// Before 7 and from 19 on.
fn is_night(at: Time) -> bool {
    let hour = at.as_secs() % 86_400.0 / 3600.0;
    !(7.0..19.0).contains(&hour)
}

fn day(day: u32) -> Time {
    Time::ZERO.after(Span::hours(24 * day))
}

/// Four weeks in order of time.
fn month() -> Result<Vec<Mail>, Box<dyn std::error::Error>> {
    let mut mail = Vec::new();
    let mut seed = 1;
    let mut send = |from, spam, pattern: Pattern, an_hour: f64, start: Time, hours: f64| {
        seed += 1;
        let end = start.after(Span::from_secs(hours * 3600.0)?);
        let stream = Traffic::new(pattern, an_hour / 3600.0, seed, start)?;
        mail.extend(stream.take_while(|at| *at < end).map(|at| Mail { at, from, spam }));
        Ok::<(), Box<dyn std::error::Error>>(())
    };
    for today in 0..DAYS {
        let at = |hour: f64| {
            Ok::<_, ratescope::BadNumber>(day(today).after(Span::from_secs(hour * 3600.0)?))
        };
        for person in 0..60u32 {
            if today % 7 >= 5 {
                continue;
            }
            // Each begins within an hour and a half, not every day at the same time.
            let late = f64::from((person * 7 + today * 11) % 30) / 60.0;
            let starts = 8.0 + f64::from(person % 10) / 10.0 + late;
            let an_hour = 2.0 * 60f64.powf(f64::from(person) / 59.0);
            let pattern = if person % 3 == 0 { Pattern::Bursts } else { Pattern::Poisson };
            send(Sender::Person(person), false, pattern, an_hour, at(starts)?, 8.0)?;
        }
        for i in 0..4 {
            send(Sender::Night(i), false, Pattern::Poisson, 40.0, at(22.0)?, 8.0)?;
        }
        for i in 0..3 {
            send(
                Sender::Batch(i),
                false,
                Pattern::Poisson,
                600.0,
                at(2.5 + f64::from(i))?,
                1.0 / 6.0,
            )?;
            send(Sender::Machine(i), false, Pattern::Poisson, 60.0, at(0.0)?, 24.0)?;
        }
    }
    // Twenty a minute from 1 to 5: from the accounts of a tenth of the people, and from strangers.
    for i in 0..6u32 {
        let night = day(17 + i % 3).after(Span::hours(1));
        send(Sender::Person(10 * i + 5), true, Pattern::Poisson, 1200.0, night, 4.0)?;
        send(Sender::Stranger(i), true, Pattern::Poisson, 1200.0, night, 4.0)?;
    }
    mail.sort_by_key(|mail| mail.at);
    Ok(mail)
}
