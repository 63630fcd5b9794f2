//! Reads a log: chunks in, events out.

use super::counts::{Counts, PROBLEMS, Reason, Unread};
use super::export::Export;
use super::filter::Filter;
use super::instant::Instant;
use super::lines::{Lines, Whole};
use super::options::{Cost, Options, check_field};
use super::pieces::Piece;
use super::record::{Normal, Record, Values};
use super::shape::{Line, LogShape, Parser};
use super::stamp::Stamps;
use super::wrap::{Envelope, Layers};
use ratescope::internal::shown;
use ratescope::limit::MAX_COST;
use ratescope::text::ParseError;

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
    /// The program whose lines are read, if the log has lines of several programs; `None` if all are read.
    program: Option<String>,
    parser: Box<dyn Parser>,
    stamps: Stamps,
    wanted: Wanted,
    strict: bool,
    counts: Counts,
    /// The name of the file that is being read.
    file: String,
    /// The number of lines before this file.
    lines_before: u64,
}

/// The events that are wanted, and their costs.
#[derive(Debug)]
struct Wanted {
    filter: Filter,
    /// The field of the cost, and the cost of an event without it.
    cost: Option<(String, f64)>,
    normal: Normal,
    /// The fields of the key, and whether events without any of them are left out.
    key: Vec<String>,
    only_keyed: bool,
}

/// The most characters of a problem that are kept, since a problem may quote the line.
const MOST_SHOWN: usize = 300;

impl Reader {
    /// A reader for a log of this shape, or for [pieces](Self::read_piece) of it.
    ///
    /// # Errors
    /// When the filter or the cost needs a field, or messages of syslog, which the log does not have.
    pub fn new(shape: &LogShape, options: &Options) -> Result<Self, ParseError> {
        let cost = match &options.cost {
            Some(Cost::Field(name)) => Some((name.clone(), 0.0)),
            Some(Cost::One) => None,
            None => shape.form.cost().map(|name| (name.to_owned(), 1.0)),
        };
        if let Some(text) = options.filter.messages.first().filter(|_| !shape.row.is_messages) {
            let problem = format!(
                "only lines of syslog have a message, and this is {shape}; look in a field by --where FIELD=TEXT"
            );
            return Err(ParseError::whole(text, problem));
        }
        for name in options.filter.fields() {
            check_field(name, shape.fields())?;
        }
        if let Some((name, _)) = cost.as_ref().filter(|(name, _)| shape.form.cost() != Some(name)) {
            check_field(name, shape.fields())?;
        }
        let work = Work {
            layers: Layers::new(&shape.wrappers),
            program: (!shape.row.is_messages).then(|| shape.program.clone()),
            parser: shape.form.open(shape, options),
            stamps: Stamps::new(options.year, options.unit),
            wanted: Wanted {
                filter: options.filter.clone(),
                cost,
                normal: Normal { ipv6_prefix: options.ipv6_prefix, path_depth: options.path_depth },
                key: shape.key(options).fields().to_vec(),
                only_keyed: options.only_keyed,
            },
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
        if let Some(layout) = &piece.layout {
            self.work.parser.enter(layout);
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
        let Work { layers, program, parser, stamps, wanted, counts, .. } = self;
        let mut envelope = Envelope::default();
        let mut inner = line;
        // Other programs may write anything to the same log, so their lines are never problems.
        let mut is_other = false;
        if !layers.is_empty() {
            let Some(peeled) = layers.peel(line) else {
                return Err(layers.missing().map(Into::into));
            };
            (envelope, inner) = peeled;
            is_other = program.as_deref().is_some_and(|program| program != envelope.program);
        }
        let mut passed = Ok(());
        let times = envelope.times.unwrap_or(1);
        let mut see = |instant, values: &dyn Values| {
            passed = wanted.pass(number, instant, values, times, counts, on_event);
        };
        match parser.read(Line { text: inner, around: &envelope, stamps }, &mut see) {
            Ok(true) => passed.map_err(Some),
            Ok(false) => {
                counts.others += u64::from(!line.trim().is_empty());
                Ok(())
            }
            Err(problem) => Err((!is_other).then_some(problem)),
        }
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

impl Wanted {
    /// Passes on the events of a line if they are wanted, and counts them.
    #[inline]
    fn pass(
        &self,
        number: u64,
        instant: Instant,
        values: &dyn Values,
        times: u32,
        counts: &mut Counts,
        on_event: &mut dyn FnMut(&Record<'_>),
    ) -> Result<(), Reason> {
        let times = values.times().unwrap_or(times);
        let mut record = Record::new(number, instant, values, self.normal);
        if !self.filter.wants(&record) {
            record.repeat(times);
            counts.filtered += u64::from(record.times());
            return Ok(());
        }
        if let Some((name, missing)) = &self.cost {
            record.cost = match values.members(name) {
                Some(members) => members,
                None => cost(record.raw(name), *missing)?,
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
}

/// The cost in the text of a field; `missing` if the field is missing or empty.
fn cost(text: Option<&str>, missing: f64) -> Result<f64, Reason> {
    let Some(text) = text.filter(|text| !text.is_empty()) else { return Ok(missing) };
    let number: Option<f64> = text.parse().ok().filter(|cost| (0.0..=MAX_COST).contains(cost));
    // Adding zero turns -0 into 0.
    let wrong = || format!("cost \"{text}\": not a number from 0 to 1e12").into();
    number.map(|cost| cost + 0.0).ok_or_else(wrong)
}
