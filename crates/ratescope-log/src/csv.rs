//! Comma-separated values, with a header.
//!
//! ```text
//! time,user,ip,cost
//! 0.5,ann,192.0.2.7,1
//! 2000-10-10T13:55:36Z,bob,192.0.2.7,2
//! ```
//!
//! `time` is in seconds since any origin, with up to six decimals, or a date and a time; large numbers are
//! taken as milliseconds, microseconds or nanoseconds. `cost` is 1 if it is missing. Every other column is a
//! field that a limit can count by. Source: RFC 4180, except that a record is one line, so that errors can
//! name the line.

use super::counts::Reason;
use super::instant::Instant;
use super::names::{Alias, Standard, classify};
use super::number;
use super::options::Options;
use super::shape::{Format, FormatRow, Line, LogFormat, LogShape, OnEvent, Parser, pass};
use super::stamp::Stamps;
use super::table::{Best, Excerpt, Named, Places, Table};
use csv_core::{ReadRecordResult, Reader};
use memchr::{memchr, memchr_iter};
use ratescope::time::Time;
use std::collections::HashSet;

impl Format {
    /// Comma-separated values.
    pub const CSV: Format = Format("csv");
}

pub(super) static ROW: FormatRow = FormatRow {
    takes_aliases: true,
    is_in_order: true,
    header: Some(shape),
    ..FormatRow::new(Format::CSV, &["events"], |_| Ok(Vec::new()))
};

/// The column of the cost by default.
const COST: &str = "cost";

/// The column of the key by default.
const KEY: &str = "key";

/// The shape of a log with the header `line`, its first line that is not empty.
fn shape(line: &str, options: &Options) -> Result<LogShape, Reason> {
    let columns = Header::of(line, &options.aliases)?.ok_or("the header is missing")?;
    let time = columns.places.get(Standard::Time).map(usize::from);
    let field =
        |(i, name): (usize, &String)| (Some(i) != time && name != COST).then(|| name.clone());
    let fields = columns.names.iter().enumerate().filter_map(field).collect();
    let fields = columns.places.fields(fields);
    Ok(LogShape::new(&ROW, columns, "CSV".to_owned(), Some(fields)))
}

impl LogFormat for Header {
    fn open(&self, _: &LogShape, _: &Options) -> Box<dyn Parser> {
        Box::new(Rows { columns: self.clone(), ..Rows::default() })
    }

    fn key(&self) -> &'static str {
        let time = self.places.get(Standard::Time).and_then(|at| self.names.get(usize::from(at)));
        if self.has(KEY) && time.is_none_or(|time| time != KEY) { KEY } else { "all" }
    }

    fn cost(&self) -> Option<&'static str> {
        self.has(COST).then_some(COST)
    }
}

impl Parser for Rows {
    fn read(&mut self, line: Line<'_>, on_event: &mut OnEvent<'_>) -> Result<bool, Reason> {
        Ok(pass(self.read(line.text, line.stamps)?, on_event))
    }
}

/// The names of the columns, and the standard fields among them.
#[derive(Clone, Debug, Default, PartialEq)]
struct Header {
    names: Vec<String>,
    places: Places,
}

impl Header {
    /// The columns of a header; `None` if the line is empty.
    fn of(line: &str, aliases: &[Alias]) -> Result<Option<Self>, Reason> {
        let mut csv = Rows::default();
        csv.split(line)?;
        let names: Vec<String> =
            csv.values.iter().map(|value| value.text(line, &csv.made).to_owned()).collect();
        if names.iter().all(String::is_empty) {
            return Ok(None);
        }
        let mut best = Best::default();
        let mut seen = HashSet::new();
        for (i, name) in names.iter().enumerate().take(usize::from(u16::MAX)) {
            if name.is_empty() {
                return Err(format!("column {} of the header has no name", i + 1).into());
            }
            if !seen.insert(name) {
                return Err(format!("the header names the column \"{name}\" twice").into());
            }
            if let Some(class) = classify(name, aliases) {
                best.offer(class, i as u16);
            }
        }
        match best.places.get(Standard::Time) {
            Some(_) => Ok(Some(Header { names, places: best.places })),
            None => Err("the header has no time; write it as in time,key,cost".into()),
        }
    }

    fn has(&self, name: &str) -> bool {
        self.names.iter().any(|known| known == name)
    }
}

/// Reads lines, reusing its memory.
#[derive(Debug, Default)]
struct Rows {
    columns: Header,
    values: Vec<Excerpt>,
    made: String,
    splitter: Option<Box<Splitter>>,
}

impl Rows {
    /// The event of a line; `None` if the line is empty, or is the header, which may begin each file of a log. Fields
    /// may be missing at the end.
    fn read<'a>(
        &'a mut self,
        line: &'a str,
        stamps: &mut Stamps,
    ) -> Result<Option<(Instant, Table<'a>)>, Reason> {
        self.split(line)?;
        let Rows { columns: Header { names, places, .. }, values, made, .. } = self;
        let is_header = values.iter().map(|value| value.text(line, made)).eq(names.iter());
        if is_header || values.iter().all(|value| value.len() == 0) {
            return Ok(None);
        }
        if values.len() > names.len() {
            let found = values.len();
            let all = names.len();
            return Err(format!("{found} fields, but the header names {all}").into());
        }
        let names = Named::Header(names);
        let table = Table { line, made, names, values, places };
        let time = time_of(table.of(Standard::Time).unwrap_or(""), stamps)?;
        Ok(Some((time, table)))
    }

    /// Splits a line into its fields, without quotes and surrounding space.
    fn split(&mut self, line: &str) -> Result<(), Reason> {
        self.values.clear();
        self.made.clear();
        let bytes = line.as_bytes();
        if memchr(b'"', bytes).is_some() {
            let splitter = self.splitter.get_or_insert_default();
            return splitter.split(line, &mut self.values, &mut self.made);
        }
        let mut from = 0;
        for end in memchr_iter(b',', bytes).chain([line.len()]) {
            let text = line.get(from..end).unwrap_or("");
            let begin = from + text.len() - text.trim_start().len();
            self.values.push(Excerpt::of_line(begin, begin + text.trim().len()));
            from = end + 1;
        }
        Ok(())
    }
}

/// Reads a time. Numbers are read exactly: more than six decimals are refused, since cutting them would
/// change the event.
fn time_of(text: &str, stamps: &mut Stamps) -> Result<Instant, Reason> {
    let time = match number::plain(text, stamps.unit) {
        Some((instant, decimals)) if decimals <= 6 => instant.time,
        _ => match text.parse::<Time>() {
            Ok(time) => time,
            Err(error) => {
                return stamps.read(text).ok_or_else(|| format!("time {error}").into());
            }
        },
    };
    Ok(Instant { time, coarse: false, east: Some(0) })
}

/// Splits lines that contain quotes.
#[derive(Debug)]
struct Splitter {
    reader: Reader,
    text: Vec<u8>,
    ends: Vec<usize>,
}

impl Default for Splitter {
    fn default() -> Self {
        // `Reader::default` has no grammar yet.
        Splitter { reader: Reader::new(), text: Vec::new(), ends: Vec::new() }
    }
}

impl Splitter {
    fn split(
        &mut self,
        line: &str,
        values: &mut Vec<Excerpt>,
        made: &mut String,
    ) -> Result<(), Reason> {
        // A quote within quotes is written twice, so a complete line has an even number of quotes.
        if memchr_iter(b'"', line.as_bytes()).count() % 2 == 1 {
            return Err("a quote is not closed; within quotes it is written twice".into());
        }
        self.text.resize(line.len() + 1, 0);
        self.ends.resize(line.len() + 2, 0);
        self.reader.reset();
        // After the line comes an empty input, which ends the record.
        let mut written = 0;
        let mut fields = 0;
        for input in [line.as_bytes(), &[]] {
            let text = &mut self.text[written..];
            let ends = &mut self.ends[fields..];
            let (result, _, wrote, ended) = self.reader.read_record(input, text, ends);
            written += wrote;
            fields += ended;
            if result == ReadRecordResult::Record {
                break;
            }
        }
        let mut from = 0;
        for &end in self.ends.iter().take(fields) {
            let field = self.text.get(from..end).and_then(|text| str::from_utf8(text).ok());
            let begin = made.len();
            made.push_str(field.unwrap_or("").trim());
            values.push(Excerpt::of_made(begin, made.len()));
            from = end;
        }
        Ok(())
    }
}
