//! Prints the tables of `limit::by_hour`: the events that fixed, adaptive and by-hour limits refuse.
//!
//! `cargo run --release -p ratescope-lab --example by_hour [LOG]`
//!
//! Of a month of made-up mail, people's by day and spam by night, and of the log that
//! `ratescope sample` makes up; or of another log.

mod events;
mod logs;
mod month;

use events::{day, table};
use ratescope::{Span, Time};
use std::error::Error;

const MAIL: [&str; 10] = [
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

/// For logs of a few days.
const REQUESTS: [&str; 6] = [
    "exim 20/10m",
    "exim 50/10m",
    "adaptive x3 decay 10m increase 2d floor 20",
    "adaptive x10 decay 10m increase 2d floor 20",
    "adaptive x3 decay 10m increase 2d floor 20 by hour",
    "adaptive x10 decay 10m increase 2d floor 20 by hour",
];

fn main() -> Result<(), Box<dyn Error>> {
    match std::env::args().nth(1) {
        None => print!("{}\n{}", of_mail()?, of_sample()?),
        Some(path) => print!("{}", table(&REQUESTS, &logs::log(&path)?, Time::ZERO)?),
    }
    Ok(())
}

/// The table of a month of mail, of which the first two weeks are for learning.
pub fn of_mail() -> Result<String, Box<dyn Error>> {
    Ok(table(&MAIL, &month::month()?, day(month::LEARNED))?)
}

/// The table of the log that `ratescope sample` writes.
pub fn of_sample() -> Result<String, Box<dyn Error>> {
    Ok(table(&REQUESTS, &logs::sample(100_000, Span::from_hours(48))?, Time::ZERO)?)
}
