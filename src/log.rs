//! Logs: lines in, events out.
//!
//! Each format is a file here. What can't be read is an [`Error`] with the number of its line, and
//! reading can go on after it.
//!
//! ```
//! use ratescope::log::csv;
//! use ratescope::store::Store;
//!
//! let log = "time,user,cost\n0,ann,1\n0.5,ann,2\nten,bob,1\n";
//! let store = Store::new("gcra 2/1m per user".parse()?, 1000);
//! let mut verdicts = Vec::new();
//! for row in csv::read(log.as_bytes())? {
//!     match row {
//!         Ok(row) => verdicts.push(store.check(&row.event()).is_allowed()),
//!         Err(error) => assert!(error.to_string().starts_with("line 4: time \"ten\"")),
//!     }
//! }
//! assert_eq!(verdicts, [true, false]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub mod csv;

use crate::event::{Event, Fields};
use crate::time::Time;
use core::fmt;
use std::io;
use std::sync::Arc;

/// A line that was read: an event that owns its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// When.
    pub time: Time,
    /// What it counts for.
    pub cost: f64,
    /// The names of the fields, which the rows of a log share.
    names: Arc<[String]>,
    /// Their values, in the same order.
    values: Vec<String>,
}

impl Row {
    /// The event.
    pub fn event(&self) -> Event<'_> {
        Event { time: self.time, cost: self.cost, fields: self }
    }
}

impl Fields for Row {
    fn value(&self, name: &str) -> Option<&str> {
        let place = self.names.iter().position(|known| known == name)?;
        self.values.get(place).map(String::as_str)
    }
}

/// What is wrong with a log, and in which line.
#[derive(Debug)]
pub struct Error {
    line: u64,
    cause: Cause,
}

#[derive(Debug)]
enum Cause {
    Line(String),
    Input(io::Error),
}

impl Error {
    /// The number of the line, from 1.
    pub fn line(&self) -> u64 {
        self.line
    }

    /// The error of the input itself, after which nothing more comes; `None` when only a line is
    /// wrong.
    pub fn input(&self) -> Option<&io::Error> {
        match &self.cause {
            Cause::Input(error) => Some(error),
            Cause::Line(_) => None,
        }
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match &self.cause {
            Cause::Line(problem) => f.write_str(problem),
            Cause::Input(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for Error {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.input().map(|error| error as _)
    }
}
