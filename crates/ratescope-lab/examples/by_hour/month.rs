//! A month of made-up mail: people by day, some at night, and spam from one in the morning on.

use super::events::{Event, day};
use ratescope::{Span, Time};
use ratescope_lab::traffic::{Pattern, Traffic};
use std::error::Error;

/// The days that are counted come after those in which habits are learned.
pub(super) const LEARNED: u32 = 14;
const DAYS: u32 = 28;

/// Who sends.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum Sender {
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

/// Four weeks in order of time.
pub(super) fn month() -> Result<Vec<Event<Sender>>, Box<dyn Error>> {
    let mut mail = Vec::new();
    let mut seed = 1;
    let mut send = |from, spam, pattern: Pattern, an_hour: f64, start: Time, hours: f64| {
        seed += 1;
        let end = start.after(Span::try_from_secs_f64(hours * 3600.0)?);
        let stream = Traffic::new(pattern, an_hour / 3600.0, seed, start)?;
        mail.extend(stream.take_while(|at| *at < end).map(|at| Event { at, from, unwanted: spam }));
        Ok::<(), Box<dyn Error>>(())
    };
    for today in 0..DAYS {
        let at = |hour: f64| {
            Ok::<_, ratescope::BadNumber>(day(today).after(Span::try_from_secs_f64(hour * 3600.0)?))
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
        let night = day(17 + i % 3).after(Span::from_hours(1));
        send(Sender::Person(10 * i + 5), true, Pattern::Poisson, 1200.0, night, 4.0)?;
        send(Sender::Stranger(i), true, Pattern::Poisson, 1200.0, night, 4.0)?;
    }
    mail.sort_by_key(|mail| mail.at);
    Ok(mail)
}
