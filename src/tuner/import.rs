//! Reading logs.

use super::Tuner;
use ratescope::time::{Span, Time};
use ratescope_lab::traffic::sample::{Sample, Style};
use ratescope_lab::tune::{Analysis, Choices, Failure, Import, MarkedKeys, Room};
use ratescope_log::Proposal;
use wasm_bindgen::prelude::*;

/// The room for the clients of a log. 256 MiB are half of a reasonable memory for a page, and hold some 40 million
/// requests.
const ROOM: Room = Room { clients: 2_000_000, bytes: 256 << 20 };

/// The made-up log: that of `ratescope sample` by default.
const SEED: u64 = 1;
const LINES: u64 = 100_000;
const OVER: Span = Span::from_hours(48);

/// The bytes of the made-up log that are written at once.
const PIECE: usize = 1 << 18;

#[wasm_bindgen]
impl Tuner {
    /// Begins to read logs. `wall` is the time in milliseconds since 1970, for logs without a year. The answer about
    /// the earlier logs stays until [`finish`](Self::finish).
    pub fn begin(&mut self, wall: f64) {
        let now = Time::from_micros((wall * 1e3) as i64);
        let mut reading = self.choices.reading.clone();
        reading.options.year = reading.options.year.or_before(now);
        self.import = Some(Import::new(reading, ROOM));
        self.sample = None;
        self.proposal = None;
    }

    /// Names the next log, for the reports about lines that could not be read.
    pub fn name(&mut self, name: &str) {
        if let Some(import) = &mut self.import {
            import.name(name);
        }
    }

    /// Reads the next piece of a log; returns the problem with it, or an empty text. After a problem, pass no more
    /// pieces of this log.
    pub fn feed(&mut self, piece: &[u8]) -> String {
        self.read(|import| import.feed(piece))
    }

    /// Ends the log; returns the problem with it, or an empty text.
    pub fn end(&mut self) -> String {
        self.read(Import::end)
    }

    /// A proposal for reading the last log that was not recognized: the notation of its columns, then each column's
    /// name and its value in the first line. Empty without such a log.
    pub fn proposal(&self) -> Vec<String> {
        let Some(Proposal { notation, columns }) = &self.proposal else { return Vec::new() };
        let columns = columns.iter().flat_map(|(name, value)| [name, value]);
        [notation].into_iter().chain(columns).cloned().collect()
    }

    /// Reads the next piece of a made-up log; returns whether there is more.
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
        // The sample can be read, so this cannot fail.
        let _ = import.feed(text.as_bytes());
        !more
    }

    /// The number of lines read by now.
    pub fn lines(&self) -> f64 {
        self.import.as_ref().map_or(0.0, |import| import.lines() as f64)
    }

    /// Ends the reading. The logs replace the earlier ones, and the result is empty. Without events, nothing changes,
    /// and the result says why.
    pub fn finish(&mut self) -> String {
        let Some(import) = self.import.take() else { return String::new() };
        match import.finish() {
            Ok(log) => {
                let mut analysis = Analysis::new(log, self.choices.clone());
                analysis.mark_all(&self.marks, &self.stop, &MarkedKeys::default());
                self.analysis = Some(analysis);
                String::new()
            }
            Err(problem) => problem,
        }
    }

    /// The name of the [usual server](ratescope_lab::tune::Imported::usual_server) for the last log, or else of the
    /// server that Tune begins with.
    pub fn server(&self) -> String {
        let usual = self.analysis.as_ref().and_then(|analysis| analysis.imported().usual_server());
        usual.unwrap_or(Choices::default().target).to_string()
    }

    /// The [usual period](ratescope_lab::tune::Imported::usual_period) of the last log, or else the one that Tune begins
    /// with.
    pub fn period(&self) -> String {
        let usual = self.analysis.as_ref().map(|analysis| analysis.imported().usual_period());
        usual.unwrap_or(Choices::default().period).to_string()
    }

    /// Gives up the reading; the answer about the earlier logs stays.
    pub fn cancel(&mut self) {
        self.import = None;
        self.sample = None;
    }
}

impl Tuner {
    /// Reads on in a log, which a problem ends. Returns the problem, or an empty text.
    fn read(&mut self, read: impl FnOnce(&mut Import) -> Result<(), Failure>) -> String {
        let Some(import) = &mut self.import else { return String::new() };
        let Err(problem) = read(import) else { return String::new() };
        self.proposal = import.proposal();
        import.drop_log();
        problem.to_string()
    }
}
