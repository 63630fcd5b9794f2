//! Reading events, line by line, so that a mistake is known by its line.

use csv_core::{ReadRecordResult, Reader};
use ratescope::Time;
use ratescope::limit::MAX_COST;
use std::io::{self, BufRead, Error, ErrorKind, Read};
use std::iter;

/// The longest line in bytes. Nothing longer is an event, and it would have to be kept in memory.
const LONGEST: usize = 1 << 20;

/// One event of the input.
pub(crate) struct Event {
    pub(crate) at: Time,
    /// Empty where there is none.
    pub(crate) key: String,
    pub(crate) cost: f64,
}

/// Which field of a line is what.
struct Columns {
    time: usize,
    key: Option<usize>,
    cost: Option<usize>,
    all: usize,
}

/// The events of an input.
pub(crate) struct Events<R> {
    lines: Lines<R>,
    splitter: Splitter,
    columns: Columns,
}

/// The events of `input`, of which the first line names the columns. Empty lines are passed over.
pub(crate) fn read<R: BufRead>(input: R) -> io::Result<Events<R>> {
    let (mut lines, mut splitter) = (Lines { input, number: 0 }, Splitter::new());
    while let Some(line) = lines.next() {
        let columns = line.and_then(|line| {
            let fields = splitter.fields(&line)?;
            if is_blank(&fields) { Ok(None) } else { Columns::new(&fields).map(Some) }
        });
        if let Some(columns) = columns.map_err(|problem| lines.here(problem))? {
            return Ok(Events { lines, splitter, columns });
        }
    }
    Err(wrong("there is no input; its first line is the header time,key,cost"))
}

impl<R: BufRead> Iterator for Events<R> {
    type Item = io::Result<Event>;

    fn next(&mut self) -> Option<Self::Item> {
        loop {
            let line = self.lines.next()?;
            match line.and_then(|line| self.event(&line)).transpose() {
                None => {}
                Some(event) => return Some(event.map_err(|problem| self.lines.here(problem))),
            }
        }
    }
}

impl<R> Events<R> {
    /// The event of a line; none in one that is empty.
    fn event(&mut self, line: &str) -> io::Result<Option<Event>> {
        let fields = self.splitter.fields(line)?;
        if is_blank(&fields) { Ok(None) } else { self.columns.event(&fields).map(Some) }
    }
}

fn is_blank(fields: &[&str]) -> bool {
    fields.iter().all(|field| field.is_empty())
}

fn wrong(problem: impl Into<String>) -> Error {
    Error::new(ErrorKind::InvalidData, problem.into())
}

/// The lines of an input, without what ends them.
struct Lines<R> {
    input: R,
    /// The number of the line last read.
    number: u64,
}

impl<R> Lines<R> {
    /// What is wrong, and in which line.
    fn here(&self, problem: Error) -> Error {
        Error::new(problem.kind(), format!("line {}: {problem}", self.number))
    }
}

impl<R: BufRead> Iterator for Lines<R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        self.number += 1;
        let mut line = Vec::new();
        match self.input.by_ref().take(LONGEST as u64 + 1).read_until(b'\n', &mut line) {
            Ok(0) => None,
            Ok(_) if line.len() > LONGEST => Some(Err(wrong("more than 1 MiB long; no event is"))),
            Ok(_) => {
                let end = line.trim_ascii_end().len();
                line.truncate(end);
                Some(String::from_utf8(line).map_err(|_| wrong("not text: it is not UTF-8")))
            }
            Err(error) => Some(Err(error)),
        }
    }
}

/// Splits lines of CSV into their fields, again and again in the same memory.
struct Splitter {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Splitter {
    fn new() -> Self {
        // Not its default, which knows no grammar yet.
        Splitter { reader: Reader::new(), text: Vec::new(), ends: Vec::new() }
    }

    /// The fields of `line`, without their quotes and the space around them.
    fn fields(&mut self, line: &str) -> io::Result<Vec<&str>> {
        // A quote within quotes is written twice, so that in every line their number is even.
        if line.matches('"').count() % 2 == 1 {
            return Err(wrong("a quote is not closed; within quotes it is written twice"));
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

impl Columns {
    fn new(header: &[&str]) -> io::Result<Self> {
        let column = |name: &str| header.iter().position(|field| *field == name);
        let unknown = |field: &&&str| !["time", "key", "cost"].contains(*field);
        if let Some(field) = header.iter().find(unknown) {
            let help = "the header names the columns: time and, if wanted, key and cost";
            return Err(wrong(format!("\"{field}\" is no column; {help}")));
        }
        let Some(time) = column("time") else {
            return Err(wrong("the header has no time; it is time,key,cost or less"));
        };
        let (key, cost) = (column("key"), column("cost"));
        let all = 1 + usize::from(key.is_some()) + usize::from(cost.is_some());
        if header.len() > all {
            return Err(wrong("the header names a column twice"));
        }
        Ok(Columns { time, key, cost, all })
    }

    /// A key or cost that is missing at the end of a line, or empty, is as one left out.
    fn event(&self, fields: &[&str]) -> io::Result<Event> {
        if fields.len() > self.all {
            let (found, all) = (fields.len(), self.all);
            return Err(wrong(format!("{found} fields, but the header names {all}")));
        }
        let field = |at: Option<usize>| at.and_then(|at| fields.get(at)).map_or("", |field| *field);
        let at = field(Some(self.time)).parse().map_err(|e| wrong(format!("time {e}")))?;
        let cost = match field(self.cost) {
            "" => 1.0,
            text => cost(text)?,
        };
        Ok(Event { at, key: field(self.key).to_owned(), cost })
    }
}

fn cost(text: &str) -> io::Result<f64> {
    let number = text.parse().ok().filter(|cost| (0.0..=MAX_COST).contains(cost));
    number.ok_or_else(|| wrong(format!("cost \"{text}\": not a number from 0 to 1e12")))
}
