//! Logs on their way in.

use super::Tuner;
use crate::lab::tune::{Analysis, Failure, Import, Room};
use crate::time::{Span, Time};
use crate::traffic::sample::{Sample, Style};
use wasm_bindgen::prelude::*;

/// How much of a log is kept: half of what a page may well take, and some 80 million requests.
const ROOM: Room = Room { clients: 2_000_000, bytes: 256 << 20 };

/// The made-up log: that of `ratescope sample`.
const SEED: u64 = 1;
const LINES: u64 = 100_000;
const OVER: Span = Span::hours(48);

/// How much of it is written at once, in bytes.
const PIECE: usize = 1 << 18;

#[wasm_bindgen]
impl Tuner {
    /// Logs will come. `wall` is the time of day in milliseconds since 1970, for those that don't
    /// say the year. What was known stays until they have ended.
    pub fn begin(&mut self, wall: f64) {
        let now = Time::from_micros((wall * 1e3) as i64);
        let mut reading = self.choices.reading.clone();
        reading.options.year = reading.options.year.or_before(now);
        self.import = Some(Import::new(reading, ROOM));
        self.sample = None;
    }

    /// Reads the next piece of a log; returns what is wrong with it, if anything. Then no more of it is
    /// wanted.
    pub fn feed(&mut self, piece: &[u8]) -> String {
        let Some(import) = &mut self.import else { return String::new() };
        let fed = import.feed(piece);
        if fed.is_err() {
            import.drop_log();
        }
        wrong(fed)
    }

    /// Ends the log; returns what is wrong with it, if anything.
    pub fn end(&mut self) -> String {
        self.import.as_mut().map_or(String::new(), |import| wrong(import.end()))
    }

    /// Reads the next piece of a made-up log; returns whether there is more of it.
    pub fn sample(&mut self) -> bool {
        let Some(import) = &mut self.import else { return false };
        if self.sample.is_none() {
            self.sample = Sample::new(SEED, LINES, OVER).ok();
        }
        let mut text = String::new();
        let more = self.sample.as_mut().is_some_and(|sample| {
            let entry = |entry| {
                Style::Combined.write(&entry, &mut text);
                text.len() < PIECE
            };
            sample.all(entry)
        });
        // What we write we can read.
        let _ = import.feed(text.as_bytes());
        !more
    }

    /// How many lines have been read.
    pub fn lines(&self) -> f64 {
        self.import.as_ref().map_or(0.0, |import| import.lines() as f64)
    }

    /// No more logs will come: what was read replaces what was known. Returns why there are no events,
    /// if there are none; then nothing changes.
    pub fn finish(&mut self) -> String {
        let Some(import) = self.import.take() else { return String::new() };
        match import.finish() {
            Ok(log) => {
                let mut analysis = Analysis::new(log, self.choices.clone());
                analysis.mark(&self.marks);
                self.analysis = Some(analysis);
                String::new()
            }
            Err(problem) => problem,
        }
    }

    /// No more logs will come, and nothing changes.
    pub fn cancel(&mut self) {
        (self.import, self.sample) = (None, None);
    }
}

fn wrong(result: Result<(), Failure>) -> String {
    result.err().map_or(String::new(), |error| error.to_string())
}
