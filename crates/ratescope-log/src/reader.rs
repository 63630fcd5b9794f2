//! Reads a log: chunks in, events out.

use super::clf::{self, Written};
use super::csv::{self, Csv};
use super::exim::{self, Events};
use super::export::Export;
use super::filter::Filter;
use super::format::{Format, LogForm, LogShape, Reason};
use super::json::Json;
use super::layout::Rows;
use super::lines::{Lines, Whole};
use super::logins::{self, Attempts};
use super::options::{Cost, Options, check_field};
use super::pieces::Piece;
use super::record::{Found, Normal, Record};
use super::stamp::{Instant, Stamps};
use super::table::Table;
use super::wrap::{Envelope, Layers};
use core::fmt;
use ratescope::internal::shown;
use ratescope::limit::MAX_COST;
use ratescope::text::ParseError;
use std::sync::Arc;

/// Reads a log that comes in chunks of any size, such as those of a file or of a stream in a page.
///
/// The events of a line come together, as soon as the line has ended, and borrow from it. Only a line that spans
/// several chunks is kept in memory, at most [`LONGEST`](super::LONGEST) bytes.
#[derive(Debug)]
pub struct Reader {
    /// Makes lines of the entries of an exported journal.
    export: Option<Export>,
    lines: Lines,
    work: Work,
}

/// Turns a line into events.
#[derive(Debug)]
struct Work {
    /// Takes the wrappers off a line.
    layers: Layers,
    /// The program whose lines are read, if the log has lines of several programs; otherwise empty.
    program: String,
    parser: Parser,
    stamps: Stamps,
    filter: Filter,
    /// The field of the cost, and the cost of an event without it.
    cost: Option<(String, f64)>,
    normal: Normal,
    /// The fields of the key, and whether events without any of them are left out.
    key: Vec<String>,
    only_keyed: bool,
    strict: bool,
    counts: Counts,
    /// The name of the file that is being read.
    file: String,
    /// The number of lines before this file.
    lines_before: u64,
}

#[derive(Debug)]
enum Parser {
    Clf(Written),
    Json(Box<Json>),
    Exim(Events),
    Logins { messages: Vec<String>, attempts: Attempts },
    Columns(Rows),
    Csv(Box<Csv>),
}

/// The most problems that are kept.
pub const PROBLEMS: usize = 5;

/// The most characters of a problem that are kept, since a problem may quote the line.
const MOST_SHOWN: usize = 300;

/// The numbers of lines and events of a log, by how they were read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// All lines, including empty ones.
    pub lines: u64,
    /// Events that were wanted.
    pub events: u64,
    /// Events that the filter dropped.
    pub filtered: u64,
    /// Events without any field of the key, such as an address; with [`only_keyed`](Options::only_keyed) they
    /// are left out.
    pub keyless: u64,
    /// Lines that are not events, such as a delivery in a mail log, or the header of CSV.
    pub others: u64,
    /// Lines that could not be read.
    pub unread: u64,
    /// The first [`PROBLEMS`] lines that could not be read.
    pub problems: Vec<Unread>,
}

/// A line that could not be read, and why.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unread {
    /// The name of the line's log if there are several logs; otherwise empty.
    pub log: String,
    /// The number of the line, from 1: in its log if the log has a name, otherwise in all that was read.
    pub line: u64,
    /// The reason.
    pub problem: String,
}

impl fmt::Display for Unread {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Unread { log, line, problem } = self;
        let comma = if log.is_empty() { "" } else { ", " };
        write!(f, "{log}{comma}line {line}: {problem}")
    }
}

impl core::error::Error for Unread {}

impl Counts {
    /// Adds the counts of a later part of the same log, or of another log.
    pub fn add(&mut self, next: &Counts) {
        for unread in next.problems.iter().take(PROBLEMS - self.problems.len().min(PROBLEMS)) {
            let before = if unread.log.is_empty() { self.lines } else { 0 };
            self.problems.push(Unread { line: unread.line + before, ..unread.clone() });
        }
        self.lines += next.lines;
        self.events += next.events;
        self.filtered += next.filtered;
        self.keyless += next.keyless;
        self.others += next.others;
        self.unread += next.unread;
    }
}

impl Reader {
    /// A reader for a log of this shape, or for [pieces](Self::read_piece) of it.
    ///
    /// # Errors
    /// When the filter or the cost needs a field, or messages of syslog, which the log does not have.
    pub fn new(shape: &LogShape, options: &Options) -> Result<Self, ParseError> {
        let cost = match &options.cost {
            Some(Cost::Field(name)) => Some((name.clone(), 0.0)),
            Some(Cost::One) => None,
            None => shape.has_column(csv::COST).then(|| (csv::COST.to_owned(), 1.0)),
        };
        if let Some(text) =
            options.filter.messages.first().filter(|_| shape.format() != Format::Syslog)
        {
            let problem = format!(
                "only lines of syslog have a message, and this is {shape}; look in a field by --where FIELD=TEXT"
            );
            return Err(ParseError::whole(text, problem));
        }
        for name in options.filter.fields() {
            check_field(name, shape.fields())?;
        }
        if let Some((name, _)) = cost.as_ref().filter(|(name, _)| !shape.has_column(name)) {
            check_field(name, shape.fields())?;
        }
        let work = Work {
            layers: Layers::new(&shape.wrappers),
            program: shape.program.clone(),
            parser: Parser::new(shape, options),
            stamps: Stamps::new(options.year, options.unit),
            filter: options.filter.clone(),
            cost,
            normal: Normal { ipv6_prefix: options.ipv6_prefix, path_depth: options.path_depth },
            key: shape.key(options).fields().to_vec(),
            only_keyed: options.only_keyed,
            strict: false,
            counts: Counts::default(),
            file: String::new(),
            lines_before: 0,
        };
        let export = shape.is_export.then(Export::default);
        Ok(Reader { export, lines: Lines::default(), work })
    }

    /// Passes `on_event` the events of a piece, and returns the counts of its lines. Line numbers begin at 1 in each
    /// piece. Several readers can read the pieces of a log with [independent](LogShape::is_divisible) lines.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed).
    pub fn read_piece(
        &mut self,
        piece: &Piece,
        on_event: &mut dyn FnMut(&Record<'_>),
    ) -> Result<Counts, Unread> {
        if let (Parser::Columns(rows), Some(layout)) = (&mut self.work.parser, &piece.layout) {
            rows.layout = Arc::clone(layout);
        }
        self.feed(&piece.lines, on_event)?;
        self.finish(on_event)?;
        self.lines = Lines::default();
        Ok(core::mem::take(&mut self.work.counts))
    }

    /// Makes every later unreadable line an error, instead of counting it.
    pub fn be_strict(&mut self) {
        self.work.strict = true;
    }

    /// Passes `on_event` the events of all lines that end in `chunk`.
    ///
    /// # Errors
    /// When a line cannot be read and the reader is strict. The rest of `chunk` is then not read.
    pub fn feed(
        &mut self,
        chunk: &[u8],
        on_event: &mut dyn FnMut(&Record<'_>),
    ) -> Result<(), Unread> {
        let Reader { export, lines, work } = self;
        let mut see = |number, line: Whole<'_>| work.line(number, line, on_event);
        match export {
            Some(export) => export.feed(chunk, &mut |line| lines.feed(line, &mut see)),
            None => lines.feed(chunk, &mut see),
        }
    }

    /// Passes `on_event` the events of the last line if it does not end with a line feed. Another file of the same log
    /// may follow.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed).
    pub fn finish(&mut self, on_event: &mut dyn FnMut(&Record<'_>)) -> Result<(), Unread> {
        let work = &mut self.work;
        self.lines.finish(&mut |number, line| work.line(number, line, on_event))
    }

    /// Names the file whose lines come next, and ends an entry of an exported journal.
    pub(super) fn name(&mut self, name: &str) {
        self.export = self.export.take().map(|_| Export::default());
        self.work.lines_before = if name.is_empty() { 0 } else { self.counts().lines };
        name.clone_into(&mut self.work.file);
    }

    /// The number of lines so far of the last named file.
    pub(super) fn line(&self) -> u64 {
        self.work.counts.lines - self.work.lines_before
    }

    /// The counts of the lines so far.
    pub fn counts(&self) -> &Counts {
        &self.work.counts
    }
}

impl Work {
    #[inline]
    fn line(
        &mut self,
        number: u64,
        line: Whole<'_>,
        on_event: &mut dyn FnMut(&Record<'_>),
    ) -> Result<(), Unread> {
        self.counts.lines = number;
        let Some(line) = line else {
            return self.unread(number, "longer than 1 MiB, so it is not read".into());
        };
        match self.event(number, line, on_event) {
            Ok(()) => Ok(()),
            Err(None) => {
                self.counts.others += 1;
                Ok(())
            }
            Err(_) if line.trim().is_empty() => Ok(()),
            Err(Some(problem)) => self.unread(number, problem),
        }
    }

    /// Passes on the events of a line, if the filter wants them. An error without a reason is a line of another
    /// program.
    #[inline]
    fn event(
        &mut self,
        number: u64,
        line: &str,
        on_event: &mut dyn FnMut(&Record<'_>),
    ) -> Result<(), Option<Reason>> {
        let mut envelope = Envelope::default();
        let mut inner = line;
        // Other programs may write anything to the same log, so their lines are never problems. Logins are read from
        // the lines of many programs.
        let mut is_other = false;
        if !self.layers.is_empty() {
            let Some(peeled) = self.layers.peel(line) else {
                return Err(self.layers.missing().map(Into::into));
            };
            (envelope, inner) = peeled;
            is_other =
                envelope.program != self.program && !matches!(self.parser, Parser::Logins { .. });
        }
        let read = self.parser.read(envelope, inner, &mut self.stamps);
        let read = read.map_err(|problem| if is_other { None } else { Some(problem) })?;
        let counts = &mut self.counts;
        let Some((instant, found)) = read else {
            counts.others += u64::from(!line.trim().is_empty());
            return Ok(());
        };
        let times = match &found {
            Found::Login(login) => login.times,
            _ => envelope.times.unwrap_or(1),
        };
        let mut record = Record::new(number, instant, found, self.normal);
        if !self.filter.wants(&record) {
            record.repeat(times);
            counts.filtered += u64::from(record.times());
            return Ok(());
        }
        if let Some((name, missing)) = &self.cost {
            record.cost = match record.members(name) {
                Some(members) => members,
                None => cost(record.raw(name), *missing).map_err(Some)?,
            };
        }
        record.repeat(times);
        if !self.key.is_empty() && !record.has_any(&self.key) {
            counts.keyless += u64::from(record.times());
            if self.only_keyed {
                return Ok(());
            }
        }
        counts.events += u64::from(record.times());
        on_event(&record);
        Ok(())
    }

    #[cold]
    fn unread(&mut self, line: u64, problem: Reason) -> Result<(), Unread> {
        self.counts.unread += 1;
        let unread = Unread {
            log: self.file.clone(),
            line: line - self.lines_before,
            problem: shown(&problem, MOST_SHOWN),
        };
        if self.strict {
            return Err(unread);
        }
        if self.counts.problems.len() < PROBLEMS {
            self.counts.problems.push(unread);
        }
        Ok(())
    }
}

impl Parser {
    /// The parser of a log of this shape.
    fn new(shape: &LogShape, options: &Options) -> Self {
        match &shape.form {
            LogForm::Combined(beside) => {
                Parser::Clf(Written { beside: *beside, many_peers: shape.many_peers })
            }
            LogForm::Json { only_requests } => {
                let mut json = Json::new(options.aliases.clone());
                json.only_requests = *only_requests;
                Parser::Json(Box::new(json))
            }
            LogForm::Exim(events) => Parser::Exim(*events),
            LogForm::Syslog => {
                let mut attempts = Attempts::default();
                attempts.left_out = shape.left_out;
                Parser::Logins { messages: options.filter.messages.clone(), attempts }
            }
            LogForm::Columns(layout) => {
                let mut rows = Rows::new(Arc::clone(layout));
                rows.many_peers = shape.many_peers;
                Parser::Columns(rows)
            }
            LogForm::Csv(columns) => Parser::Csv(Box::new(Csv::new(columns.clone()))),
        }
    }

    /// Reads a line without its wrappers, which are the `envelope`; `None` if it is not an event.
    #[inline]
    fn read<'a>(
        &'a mut self,
        envelope: Envelope<'a>,
        line: &'a str,
        stamps: &mut Stamps,
    ) -> Result<Option<(Instant, Found<'a>)>, Reason> {
        match self {
            Parser::Clf(form) => {
                let (instant, clf) =
                    clf::read(line, *form, stamps).ok_or_else(|| clf::problem(line))?;
                Ok(Some((instant, Found::Clf(clf))))
            }
            Parser::Exim(events) => {
                let outer = envelope.instant(stamps);
                let read = exim::read(line, outer, stamps, *events)?;
                Ok(read.map(|(instant, exim)| (instant, Found::Exim(exim))))
            }
            Parser::Logins { messages, attempts } => {
                let read = logins::read(envelope, line, stamps, messages, attempts)?;
                Ok(read.map(|(instant, login)| (instant, Found::Login(login))))
            }
            Parser::Json(json) => {
                let outer = envelope.instant(stamps);
                Ok(in_table(json.read(line, stamps, outer)?))
            }
            Parser::Columns(rows) => {
                let outer = envelope.instant(stamps);
                Ok(in_table(rows.read(line, stamps, outer)?))
            }
            Parser::Csv(csv) => Ok(in_table(csv.read(line, stamps)?)),
        }
    }
}

/// An event whose fields are in a table.
#[inline]
fn in_table(read: Option<(Instant, Table<'_>)>) -> Option<(Instant, Found<'_>)> {
    read.map(|(instant, table)| (instant, Found::Table(table)))
}

/// The cost in the text of a field; `missing` if the field is missing or empty.
fn cost(text: Option<&str>, missing: f64) -> Result<f64, Reason> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(missing) };
    let number: Option<f64> = text.parse().ok().filter(|cost| (0.0..=MAX_COST).contains(cost));
    // Adding zero turns -0 into 0.
    let wrong = || format!("cost \"{text}\": not a number from 0 to 1e12").into();
    number.map(|cost| cost + 0.0).ok_or_else(wrong)
}
