//! Logs, read one after the other: lines become events, which are kept by client.

use super::batch::{Batch, OnEvent, Queue};
use super::grouped::Grouped;
use super::{ReadOptions, parallel};
use crate::tune::{BadSummary, Origin, Room, Summary, Trial};
use core::error::Error;
use core::mem;
use memchr::memrchr;
use ratescope::event::Event;
use ratescope::policy::Per;
use ratescope::text::ParseError;
use ratescope::time::Span;
use ratescope_config::Target;
use ratescope_log::{
    Corrections, Cost, Counts, Format, HELD, LogShape, Names, Pieces, Proposal, Reader, Record,
    Row, Unread, nouns, recognize,
};
use std::io::Read;

/// The reason why a log can't be read.
pub type Failure = Box<dyn Error + Send + Sync>;

/// The result of reading logs.
#[derive(Clone, Debug)]
pub struct Imported {
    /// The clients and their events.
    pub summary: Summary,
    /// The options used.
    pub options: ReadOptions,
    /// A log has the field `forwarded`, with the client for which a proxy forwarded the request.
    pub has_forwarded: bool,
    /// The counts of the lines.
    pub counts: Counts,
    /// The corrections of the times.
    pub times: Corrections,
    /// The shape of the last log, from its first lines.
    pub shape: Option<LogShape>,
}

/// Of logs read elsewhere, only the summary is known.
impl From<Summary> for Imported {
    fn from(summary: Summary) -> Self {
        let mut options = ReadOptions::default();
        let cost = Some(&summary.origin.cost).filter(|cost| !cost.is_empty());
        options.options.cost = cost.cloned().map(Cost::Field);
        Imported {
            summary,
            options,
            has_forwarded: false,
            counts: Counts::default(),
            times: Corrections::default(),
            shape: None,
        }
    }
}

impl Imported {
    /// The word for the events, in plural.
    pub fn events(&self) -> &'static str {
        let word = &self.summary.origin.events;
        nouns().find(|noun| noun == word).unwrap_or("requests")
    }

    /// Each event is a failed login.
    pub fn are_failures(&self) -> bool {
        self.events() == FAILED_LOGINS
    }

    /// The period in which such events are usually counted: that of fail2ban for failed logins, and otherwise a minute.
    pub fn usual_period(&self) -> Span {
        if self.are_failures() { Span::from_mins(10) } else { Span::from_mins(1) }
    }

    /// The formats, for a person.
    pub fn formats(&self) -> &[String] {
        &self.summary.origin.formats
    }

    /// The server that usually limits such events, by the format of the last log or else by the word for the events:
    /// Exim for Exim's logs, fail2ban for failed logins. The answer is for this server until another is chosen.
    pub fn usual_server(&self) -> Option<Target> {
        match (self.shape.as_ref().map(LogShape::format), self.events()) {
            (Some(Format::EXIM), _) | (None, "mails" | "refusals") => Some(Target::Exim),
            (Some(Format::SYSLOG), _) | (None, FAILED_LOGINS | "messages") => {
                Some(Target::Fail2ban)
            }
            _ => None,
        }
    }

    /// The jails of fail2ban for the failed logins of the last log, that of the most failures first; empty if the
    /// programs are not known, as in a summary.
    pub fn jails(&self) -> Vec<&'static str> {
        let programs = self.shape.as_ref().map_or(&[][..], LogShape::programs);
        let jail = |program: &&'static str| match *program {
            // The jail `postfix` is for mails that are refused.
            "postfix" => "postfix-sasl",
            program => program,
        };
        programs.iter().map(jail).collect()
    }

    /// Returns the logs if they have events.
    ///
    /// # Errors
    /// When there are no events. The text has the counts of lines that the filter left out, and the unreadable lines.
    pub fn with_events(self) -> Result<Self, String> {
        if !self.summary.clients.is_empty() {
            return Ok(self);
        }
        let filter = &self.options.options.filter;
        let why = self.shape.as_ref().map(|shape| shape.no_events(filter, &self.counts));
        let mut why = why.unwrap_or_else(|| "there are no events".to_owned());
        let Summary { unread, lines, .. } = self.summary;
        if unread > 0 {
            why += &format!("; {unread} of {lines} lines could not be read");
        }
        for (i, problem) in self.counts.problems.iter().enumerate() {
            why += &format!("{}\n  {problem}", if i == 0 { ":" } else { "" });
        }
        Err(why)
    }

    /// Adds the next log.
    ///
    /// # Errors
    /// When the log's clients have another key; then nothing changes.
    fn add(&mut self, next: Imported) -> Result<(), BadSummary> {
        self.summary.add(&next.summary)?;
        self.has_forwarded |= next.has_forwarded;
        self.counts.add(&next.counts);
        self.times.add(next.times);
        self.shape = next.shape;
        Ok(())
    }
}

/// The word for failed logins, one of the [`nouns`].
const FAILED_LOGINS: &str = "failed logins";

/// Reads logs, one after the other. [`read`](Self::read) reads a whole log on all processors. For a log in pieces, call
/// [`feed`](Self::feed) and [`end`](Self::end).
#[derive(Debug)]
pub struct Import {
    options: ReadOptions,
    room: Room,
    /// The log that is being read.
    open: Option<Open>,
    /// The reader of a log in pieces. Until the format is recognized, `head` holds the beginning of the log.
    reader: Option<(Reader, Batch)>,
    head: Vec<u8>,
    /// The length of `head` at the last attempt to recognize the format.
    tried: usize,
    /// The name of the log, or empty.
    name: String,
    /// The logs read to their end.
    ended: Option<Imported>,
}

/// A log whose events are being added to their clients.
#[derive(Clone, Debug)]
struct Open {
    shape: LogShape,
    queue: Queue,
    summary: Summary,
}

impl Import {
    /// An import that keeps as many events as fit the room.
    pub fn new(options: ReadOptions, room: Room) -> Self {
        Import {
            options,
            room,
            open: None,
            reader: None,
            head: Vec::new(),
            tried: 0,
            name: String::new(),
            ended: None,
        }
    }

    /// Sets the name of the next logs. Unreadable lines are reported with this name.
    pub fn name(&mut self, name: &str) {
        name.clone_into(&mut self.name);
    }

    /// The key of the clients in a log of this shape.
    ///
    /// # Errors
    /// When the log lacks the fields of the key.
    pub fn key(&self, shape: &LogShape) -> Result<Per, ParseError> {
        let per = shape.key(&self.options.options);
        shape.check_key(&per)?;
        Ok(per)
    }

    /// Reads a whole log on all processors, and calls `on_event` with each of its events, to try limits.
    ///
    /// # Errors
    /// When the log lacks the fields of the key or can't be read, when the earlier logs have another key, or when its
    /// newest line is the first. Then only this log is given up.
    pub fn read<R: Read + Send>(
        &mut self,
        pieces: Pieces<R>,
        trials: &mut [&mut Trial],
    ) -> Result<(), Failure> {
        let Open { shape, mut queue, mut summary } = self.begin(pieces.shape())?;
        let per = summary.per.clone();
        let limits = trials.iter().flat_map(|trial| trial.fields());
        let fields: Names = limits.chain(per.fields().iter().map(String::as_str)).collect();
        let fields = (!trials.is_empty()).then_some(fields);
        let bits = self.options.options.ipv6_prefix;
        let usual = (32, bits);
        let is_grouped = trials.iter().all(|trial| trial.prefixes.is_none_or(|own| own == usual));
        let row = if is_grouped { Row::new } else { Row::ungrouped };
        let mut try_limits = |event: &Event<'_>, per: &Per| {
            if is_grouped {
                return trials.iter_mut().for_each(|trial| trial.check(event, per));
            }
            let client = Grouped::new(event.fields, usual);
            for trial in trials.iter_mut() {
                let own = Grouped::new(event.fields, trial.prefixes.unwrap_or(usual));
                trial.check_client(&Event { fields: &own, ..*event }, &client, per);
            }
        };
        let counts = parallel::read(
            pieces,
            &self.options.options,
            |record, batch| {
                batch.add(record, &per, fields.as_ref().map(|fields| row(record, fields)));
            },
            |batch| queue.add(batch, &mut summary, &mut try_limits),
        )?;
        self.close(Open { shape, queue, summary }, &counts, &mut try_limits)
    }

    fn begin(&self, shape: &LogShape) -> Result<Open, ParseError> {
        let ReadOptions { spread, slack, .. } = &self.options;
        let per = self.key(shape)?;
        // Lines that wait to be sorted may take up to an eighth of the memory.
        let waiting = HELD.min(self.room.bytes / 8);
        let room = Room { bytes: self.room.bytes - waiting, ..self.room };
        let queue = Queue::new(slack.or(shape.usual_slack(*spread)), waiting, *spread);
        let mut summary = Summary::new(per, room);
        if shape.fields().is_none_or(|all| all.iter().any(|one| matches!(&**one, "path" | "agent")))
        {
            summary.clients.keep_labels();
        }
        Ok(Open { shape: shape.clone(), queue, summary })
    }

    /// Ends a log and adds it to the earlier ones. `counts` are the counts of its lines.
    fn close(
        &mut self,
        open: Open,
        counts: &Counts,
        on_event: &mut OnEvent<'_>,
    ) -> Result<(), Failure> {
        let Open { shape, mut queue, mut summary } = open;
        queue.finish(&mut summary, on_event);
        if queue.is_newest_first() {
            return Err("the newest line is the first; reverse the log, as tac FILE does".into());
        }
        summary.lines = counts.lines;
        summary.unread = counts.unread;
        let mut counts = counts.clone();
        counts.problems.iter_mut().for_each(|unread| unread.log.clone_from(&self.name));
        summary.origin = Origin {
            events: shape.events(&self.options.options.filter).to_owned(),
            cost: self.options.field_of_costs().unwrap_or_default().to_owned(),
            formats: vec![shape.to_string()],
        };
        let log = Imported {
            summary,
            options: self.options.clone(),
            has_forwarded: shape.has_forwarded(),
            counts,
            times: queue.corrections(),
            shape: Some(shape),
        };
        match &mut self.ended {
            Some(ended) => ended.add(log)?,
            None => self.ended = Some(log),
        }
        Ok(())
    }

    /// Reads the next piece of a log.
    ///
    /// # Errors
    /// When the format is unknown, or the log lacks the fields of the key. Then call [`drop_log`](Self::drop_log); the
    /// earlier logs stay.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), Failure> {
        if self.reader.is_none() {
            self.head.extend_from_slice(piece);
            // Each attempt reads all of the beginning, so the next one waits for a tenth more.
            let is_due = self.head.len() >= self.tried + self.tried / 10;
            return if is_due { self.recognize(false) } else { Ok(()) };
        }
        self.advance(|reader, find| reader.feed(piece, find))
    }

    /// Ends a log in pieces; another may begin.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed) and [`read`](Self::read).
    pub fn end(&mut self) -> Result<(), Failure> {
        if self.reader.is_none() {
            self.recognize(true)?;
        }
        self.advance(|reader, find| reader.finish(find))?;
        match self.reader.take().zip(self.open.take()) {
            Some(((reader, _), open)) => self.close(open, reader.counts(), &mut ignore),
            None => Ok(()),
        }
    }

    /// Continues the log with another file, as after a rotation.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed).
    pub fn next_file(&mut self) -> Result<(), Failure> {
        if self.reader.is_none() && self.head.last().is_some_and(|last| *last != b'\n') {
            self.head.push(b'\n');
        }
        self.advance(|reader, find| reader.finish(find))
    }

    /// The logs read so far, while more pieces may come. A last line without an end is left out. This copies everything
    /// that is kept, so it takes as much memory again.
    ///
    /// # Errors
    /// As for [`end`](Self::end) and [`finish`](Self::finish).
    pub fn so_far(&self) -> Result<Imported, Failure> {
        let mut now = Import {
            name: self.name.clone(),
            ended: self.ended.clone(),
            ..Import::new(self.options.clone(), self.room)
        };
        if let Some(((reader, _), open)) = self.reader.as_ref().zip(self.open.clone()) {
            now.close(open, reader.counts(), &mut ignore)?;
        } else {
            let whole = memrchr(b'\n', &self.head).map_or(0, |end| end + 1);
            now.feed(self.head.get(..whole).unwrap_or_default())?;
            now.end()?;
        }
        Ok(now.finish()?)
    }

    /// Recognizes the format by the beginning of the log, once this is long enough or `complete`. Then starts a reader
    /// and reads the beginning.
    fn recognize(&mut self, complete: bool) -> Result<(), Failure> {
        self.tried = self.head.len();
        let Some(shape) = recognize(&self.head, complete, &self.options.options)? else {
            return Ok(());
        };
        self.tried = 0;
        // For a log of a known format there is nothing to propose, even if it is not read.
        let head = mem::take(&mut self.head);
        let reader = Reader::new(&shape, &self.options.options)?;
        self.open = Some(self.begin(&shape)?);
        self.reader = Some((reader, Batch::default()));
        self.feed(&head)
    }

    /// Calls `read` with the reader, and takes the events found. Does nothing before a log has begun.
    fn advance(
        &mut self,
        read: impl FnOnce(&mut Reader, &mut dyn FnMut(&Record<'_>)) -> Result<(), Unread>,
    ) -> Result<(), Failure> {
        let (Some((reader, batch)), Some(open)) = (&mut self.reader, &mut self.open) else {
            return Ok(());
        };
        let done = read(reader, &mut |record| batch.add(record, &open.summary.per, None));
        open.queue.add(batch, &mut open.summary, &mut ignore);
        Ok(done?)
    }

    /// A proposal for reading the log that has begun, if its format is unknown.
    pub fn proposal(&self) -> Option<Proposal> {
        if self.reader.is_none() { Proposal::new(&self.head) } else { None }
    }

    /// Gives up the log that has begun; the earlier logs stay.
    pub fn drop_log(&mut self) {
        self.open = None;
        self.reader = None;
        self.head.clear();
    }

    /// The number of lines read so far.
    pub fn lines(&self) -> u64 {
        let ended = self.ended.as_ref().map_or(0, |ended| ended.counts.lines);
        ended + self.reader.as_ref().map_or(0, |(reader, _)| reader.counts().lines)
    }

    /// Ends the import, and returns the logs.
    ///
    /// # Errors
    /// When there were no logs, or [no events](Imported::with_events) in the logs.
    pub fn finish(self) -> Result<Imported, String> {
        self.ended.ok_or("there are no logs")?.with_events()
    }
}

/// For logs without trials.
fn ignore(_: &Event<'_>, _: &Per) {}
