//! Events as comma-separated values, with a header.
//!
//! ```text
//! time,user,ip,cost
//! 0.5,ann,192.0.2.7,1
//! 0.75,bob,192.0.2.7,2
//! ```
//!
//! `time` is in seconds since any origin, with up to six decimals; `cost` is 1 where it is not
//! said. Every other column is a field that a limit may be for. Source: RFC 4180, but a record is
//! one line, so that a mistake is known by its line.

use super::{Cause, Error, Row};
use crate::limit::MAX_COST;
use csv_core::{ReadRecordResult, Reader};
use std::io::{BufRead, Read};
use std::iter;
use std::sync::Arc;

/// The longest line in bytes, without its end. Nothing longer is an event, and it would have to be kept in memory.
pub const LONGEST: usize = 1 << 20;

/// The events of `input`, of which the first line names the columns. Empty lines are passed over.
///
/// # Errors
/// When there is no header, it has no time, or it names a column twice.
pub fn read<R: BufRead>(input: R) -> Result<Rows<R>, Error> {
    let (mut lines, mut splitter) = (Lines { input, number: 0 }, Splitter::new());
    while let Some(line) = lines.next()? {
        let columns = splitter.fields(&line).and_then(|fields| {
            if is_blank(&fields) { Ok(None) } else { Columns::new(&fields).map(Some) }
        });
        if let Some(columns) = columns.map_err(|problem| lines.wrong(problem))? {
            return Ok(Rows { lines, splitter, columns, ended: false });
        }
    }
    Err(lines.wrong("there is no input; its first line is a header such as time,key,cost".into()))
}

/// The events of a log, one a line; a line that can't be read is an error, and the next one comes
/// after it.
#[derive(Debug)]
pub struct Rows<R> {
    lines: Lines<R>,
    splitter: Splitter,
    columns: Columns,
    ended: bool,
}

impl<R> Rows<R> {
    /// The names of the columns beside time and cost.
    pub fn fields(&self) -> &[String] {
        &self.columns.names
    }

    /// The event of a line; none in one that is empty.
    fn row(&mut self, line: &str) -> Result<Option<Row>, String> {
        let fields = self.splitter.fields(line)?;
        if is_blank(&fields) { Ok(None) } else { self.columns.row(&fields).map(Some) }
    }
}

impl<R: BufRead> Iterator for Rows<R> {
    type Item = Result<Row, Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.ended {
            let line = match self.lines.next() {
                Ok(Some(line)) => line,
                Ok(None) => break,
                Err(error) => {
                    // An input that fails once would fail for ever.
                    self.ended = error.input().is_some();
                    return Some(Err(error));
                }
            };
            match self.row(&line) {
                Ok(None) => {}
                Ok(Some(row)) => return Some(Ok(row)),
                Err(problem) => return Some(Err(self.lines.wrong(problem))),
            }
        }
        None
    }
}

fn is_blank(fields: &[&str]) -> bool {
    fields.iter().all(|field| field.is_empty())
}

/// The lines of an input, without what ends them.
#[derive(Debug)]
struct Lines<R> {
    input: R,
    /// The number of the line last read.
    number: u64,
}

impl<R> Lines<R> {
    /// What is wrong with the line last read.
    fn wrong(&self, problem: String) -> Error {
        Error { line: self.number.max(1), cause: Cause::Line(problem) }
    }
}

impl<R: BufRead> Lines<R> {
    fn next(&mut self) -> Result<Option<String>, Error> {
        let mut line = Vec::new();
        let taken = self.input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line);
        self.number += 1;
        let taken = taken.map_err(|e| Error { line: self.number, cause: Cause::Input(e) })?;
        if taken == 0 {
            self.number -= 1;
            return Ok(None);
        }
        if taken > LONGEST && !line.ends_with(b"\n") {
            self.skip_line()?;
            return Err(self.wrong("more than 1 MiB long; no event is".to_owned()));
        }
        line.truncate(line.trim_ascii_end().len());
        let text = String::from_utf8(line);
        text.map(Some).map_err(|_| self.wrong("not text: it is not UTF-8".to_owned()))
    }

    /// Passes over the rest of a line that is too long to be kept.
    fn skip_line(&mut self) -> Result<(), Error> {
        let skipped = self.input.skip_until(b'\n');
        skipped.map(drop).map_err(|e| Error { line: self.number, cause: Cause::Input(e) })
    }
}

/// Splits lines into their fields, again and again in the same memory.
struct Splitter {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl core::fmt::Debug for Splitter {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        f.debug_struct("Splitter").finish_non_exhaustive()
    }
}

impl Splitter {
    fn new() -> Self {
        // Not its default, which knows no grammar yet.
        Splitter { reader: Reader::new(), text: Vec::new(), ends: Vec::new() }
    }

    /// The fields of `line`, without their quotes and the space around them.
    fn fields(&mut self, line: &str) -> Result<Vec<&str>, String> {
        // A quote within quotes is written twice, so that in every line their number is even.
        if line.matches('"').count() % 2 == 1 {
            return Err("a quote is not closed; within quotes it is written twice".to_owned());
        }
        self.text.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 2, 0);
        self.reader.reset();
        // The line, and then nothing, which ends it.
        let (mut written, mut fields) = (0, 0);
        for input in [line.as_bytes(), &[]] {
            let (text, ends) = (&mut self.text[written..], &mut self.ends[fields..]);
            let (result, _, wrote, ended) = self.reader.read_record(input, text, ends);
            (written, fields) = (written + wrote, fields + ended);
            if result == ReadRecordResult::Record {
                break;
            }
        }
        let starts = iter::once(0).chain(self.ends.iter().copied());
        let ranges = starts.zip(&self.ends).take(fields);
        let field = |(from, to): (usize, &usize)| str::from_utf8(&self.text[from..*to]);
        Ok(ranges.map(|range| field(range).unwrap_or("").trim()).collect())
    }
}

/// Which column of a line is what.
#[derive(Debug)]
struct Columns {
    time: usize,
    cost: Option<usize>,
    /// The places and the names of the fields.
    places: Vec<usize>,
    names: Arc<[String]>,
    all: usize,
}

impl Columns {
    fn new(header: &[&str]) -> Result<Self, String> {
        let column = |name: &str| header.iter().position(|field| *field == name);
        for (i, name) in header.iter().enumerate() {
            match *name {
                "" => return Err(format!("column {} of the header has no name", i + 1)),
                name if column(name) != Some(i) => {
                    return Err(format!("the header names the column \"{name}\" twice"));
                }
                _ => {}
            }
        }
        let Some(time) = column("time") else {
            return Err("the header has no time; it is such as time,key,cost".to_owned());
        };
        let cost = column("cost");
        let is_field = |place: &usize| *place != time && Some(*place) != cost;
        let places: Vec<usize> = (0..header.len()).filter(is_field).collect();
        let names = places.iter().filter_map(|&place| header.get(place));
        let names = names.map(|name| (*name).to_owned()).collect();
        Ok(Columns { time, cost, places, names, all: header.len() })
    }

    /// A field or cost that is missing at the end of a line, or empty, is as one left out.
    fn row(&self, fields: &[&str]) -> Result<Row, String> {
        if fields.len() > self.all {
            let (found, all) = (fields.len(), self.all);
            return Err(format!("{found} fields, but the header names {all}"));
        }
        let field = |at: Option<usize>| at.and_then(|at| fields.get(at)).map_or("", |field| *field);
        let time = field(Some(self.time)).parse().map_err(|e| format!("time {e}"))?;
        let cost = match field(self.cost) {
            "" => 1.0,
            text => cost(text)?,
        };
        let values = self.places.iter().map(|&place| field(Some(place)).to_owned()).collect();
        Ok(Row { time, cost, names: Arc::clone(&self.names), values })
    }
}

fn cost(text: &str) -> Result<f64, String> {
    let number: Option<f64> = text.parse().ok().filter(|cost| (0.0..=MAX_COST).contains(cost));
    // Adding zero turns -0 into 0.
    let wrong = || format!("cost \"{text}\": not a number from 0 to 1e12");
    number.map(|cost| cost + 0.0).ok_or_else(wrong)
}
