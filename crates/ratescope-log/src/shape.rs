//! Formats, and the shape of a log: a format with the properties that the first lines show.

use super::counts::{Counts, Reason};
use super::filter::Filter;
use super::instant::Instant;
use super::layout::Layout;
use super::options::{Options, check_field};
use super::order::{SLACK, Spread};
use super::record::Values;

use super::stamp::Stamps;
use super::wrap::{Envelope, Wrapper};
use core::fmt;
use ratescope::address;
use ratescope::internal::{grouped, plural};
use ratescope::policy::Per;
use ratescope::text::ParseError;
use ratescope::time::Span;
use std::sync::Arc;

#[doc = include_str!("formats.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Format(pub(super) &'static str);

/// Writes the name, as in `combined`.
impl fmt::Display for Format {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

type GuessLine = fn(&mut FirstLine<'_>) -> Result<Vec<Guess>, Reason>;
type ReadHeader = fn(&str, &Options) -> Result<LogShape, Reason>;

#[derive(Debug)]
pub(super) struct FormatRow {
    pub(super) format: Format,
    /// The names of servers that write it by default.
    pub(super) servers: &'static [&'static str],
    /// The plural nouns for its events.
    pub(super) nouns: &'static [&'static str],
    /// The lines name their fields, so that other names can be given for the standard ones.
    pub(super) takes_aliases: bool,
    /// The events are messages of any programs, with the header of syslog before each.
    pub(super) is_messages: bool,
    /// The order of the lines is that of the events, whatever their times.
    pub(super) is_in_order: bool,
    /// How a line can be read, the likeliest form first.
    pub(super) guess: GuessLine,
    /// The shape of a log whose first line is a header; `None` if any line may come first.
    pub(super) header: Option<ReadHeader>,
    /// How each of the lines can be read if all of them decide together, as about the order of their columns.
    pub(super) guess_all: fn(&[Inside], &Options) -> Vec<Guess>,
}

impl FormatRow {
    /// A row of a format with one noun, for which no server is known, and with no more properties.
    pub(super) const fn new(
        format: Format,
        nouns: &'static [&'static str],
        guess: GuessLine,
    ) -> Self {
        FormatRow {
            format,
            servers: &[],
            nouns,
            takes_aliases: false,
            is_messages: false,
            is_in_order: false,
            guess,
            header: None,
            guess_all: |_, _| Vec::new(),
        }
    }
}

/// A format as one log is written in it, with the properties that its first lines show.
pub(super) trait LogFormat: fmt::Debug + Send + Sync {
    /// Tells the variants of a format apart.
    fn variant(&self) -> &str {
        ""
    }

    /// A parser of the lines.
    fn open(&self, shape: &LogShape, options: &Options) -> Box<dyn Parser>;

    /// The index of the noun for the events.
    fn noun(&self, _filter: &Filter) -> usize {
        0
    }

    /// Tells whether each line can be read without the lines before it. If it may take the time of a wrapper, it
    /// depends on lines before it in syslog, whose times have no year.
    fn is_divisible(&self, wrappers: &[Wrapper]) -> bool {
        !wrappers.contains(&Wrapper::Syslog)
    }

    /// The columns of the first lines, if the format has a [`Layout`].
    fn layout(&self) -> Option<&Arc<Layout>> {
        None
    }

    /// The field of the key by default, or `all`.
    fn key(&self) -> &'static str {
        "ip"
    }

    /// The field of the cost by default.
    fn cost(&self) -> Option<&'static str> {
        None
    }

    /// The part of the lines that it has to fit, as in 1 of 20, if the format `is_said` or not; `None` if any part.
    fn least(&self, _is_said: bool) -> Option<(u32, u32)> {
        None
    }

    /// Tells whether it fits a line.
    fn fits(&self, _line: &str, _options: &Options, _outer: Option<Instant>) -> bool {
        true
    }

    /// The format with everything that the first lines show together, which have these wrappers; `None` if they show no
    /// more.
    fn learned(
        &self,
        _text: &str,
        _wrappers: &[Wrapper],
        _options: &Options,
    ) -> Option<Arc<dyn LogFormat>> {
        None
    }

    /// The known programs whose messages are events.
    fn programs(&self) -> &[&'static str] {
        &[]
    }
}

/// Takes the event of a line: its time and its values.
pub(super) type OnEvent<'a> = dyn FnMut(Instant, &dyn Values) + 'a;

/// A line for a [`Parser`].
pub(super) struct Line<'a> {
    /// The text inside the wrappers.
    pub(super) text: &'a str,
    /// The fields of the wrappers.
    pub(super) around: &'a Envelope<'a>,
    /// Reads times.
    pub(super) stamps: &'a mut Stamps,
}

/// Turns lines into events, and may reuse its memory for each of them.
pub(super) trait Parser: fmt::Debug + Send {
    /// Passes on the event of a line. Returns `false` if the line is not an event.
    fn read(&mut self, line: Line<'_>, on_event: &mut OnEvent<'_>) -> Result<bool, Reason>;

    /// The next line has these columns.
    fn enter(&mut self, _layout: &Arc<Layout>) {}
}

/// Passes on an event that was read; `false` if there is none.
pub(super) fn pass(read: Option<(Instant, impl Values)>, on_event: &mut OnEvent<'_>) -> bool {
    let Some((instant, values)) = read else { return false };
    on_event(instant, &values);
    true
}

/// One of the first lines of a log.
pub(super) struct FirstLine<'a> {
    /// The text inside the wrappers.
    pub(super) text: &'a str,
    pub(super) wrappers: &'a [Wrapper],
    pub(super) envelope: &'a Envelope<'a>,
    pub(super) options: &'a Options,
    /// The layouts that headers of the log name.
    pub(super) headers: &'a mut Vec<Arc<Layout>>,
}

impl FirstLine<'_> {
    /// The time of the wrappers.
    pub(super) fn outer(&self) -> Option<Instant> {
        self.envelope.instant(&mut Stamps::default())
    }
}

/// The text inside the wrappers of a line, with the fields of the wrappers.
pub(super) struct Inside {
    pub(super) program: String,
    pub(super) text: String,
    pub(super) outer: Option<Instant>,
}

/// A shape in which a line can be read, and how well it fits.
#[derive(Clone, Debug)]
pub(super) struct Guess {
    pub(super) shape: LogShape,
    /// The weight of the line as evidence for the format.
    pub(super) points: u32,
    /// The address of the peer, if it is internal.
    pub(super) peer: Option<String>,
}

impl Guess {
    /// The points for an event with an address, in a form that no other format has.
    pub(super) const PROOF: u32 = 5;
    /// The points for an event with an address.
    pub(super) const CLIENT: u32 = 4;
    /// The points for an event with an address, in columns whose order is guessed.
    pub(super) const GUESSED: u32 = 3;
    /// The points for an event with the name of a client, and for a line that no other format has.
    pub(super) const NAME: u32 = 2;
    /// The points for a line that could as well be of another format.
    pub(super) const OTHER: u32 = 1;

    pub(super) fn new(shape: LogShape, points: u32) -> Self {
        Guess { shape, points, peer: None }
    }

    /// The points for a line that may have the address of a client.
    pub(super) fn points(client: Option<&str>) -> u32 {
        if client.is_some_and(address::is_address) { Guess::CLIENT } else { Guess::OTHER }
    }
}

/// So many different internal peers are the clients of the log.
pub(super) const PEERS: usize = 5;

/// The format of a log, and the properties that its first lines show: see [`recognize`](crate::recognize).
#[derive(Clone, Debug)]
pub struct LogShape {
    pub(super) row: &'static FormatRow,
    pub(super) form: Arc<dyn LogFormat>,
    about: String,
    fields: Option<Vec<String>>,
    /// The wrappers around each line, outermost first.
    pub(super) wrappers: Vec<Wrapper>,
    /// The program whose lines are read, if the log has lines of several programs; otherwise empty.
    pub(super) program: String,
    /// The log is an exported journal.
    pub(super) is_export: bool,
    /// There are many internal peers beside lists of forwarded addresses, which are then clients, not proxies.
    pub(super) many_peers: bool,
    /// Lines without a known list of fields may have an X-Forwarded-For.
    pub(super) has_forwarded: bool,
}

impl LogShape {
    pub(super) fn new(
        row: &'static FormatRow,
        form: impl LogFormat + 'static,
        about: String,
        fields: Option<Vec<String>>,
    ) -> Self {
        LogShape {
            row,
            form: Arc::new(form),
            about,
            fields,
            wrappers: Vec::new(),
            program: String::new(),
            is_export: false,
            many_peers: false,
            has_forwarded: false,
        }
    }

    /// A shape whose lines have only these fields.
    pub(super) fn with(
        row: &'static FormatRow,
        form: impl LogFormat + 'static,
        about: &str,
        fields: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let fields = fields.into_iter().map(str::to_owned).collect();
        LogShape::new(row, form, about.to_owned(), Some(fields))
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.row.format
    }

    /// Tells whether each line can be read without the lines before it. Lines with the time of syslog cannot: without a
    /// year, it follows from earlier lines. Nor can lines under `#Fields` headers inside the log of another program:
    /// [`Pieces`](crate::Pieces) find only bare headers.
    pub fn is_divisible(&self) -> bool {
        // An entry of an exported journal has several lines.
        !self.is_export && self.form.is_divisible(&self.wrappers)
    }

    /// Tells whether both have the same format, variant and wrappers.
    pub(super) fn is_like(&self, other: &LogShape) -> bool {
        self.format() == other.format()
            && self.form.variant() == other.form.variant()
            && self.wrappers == other.wrappers
    }

    /// A sentence that says why the log has no events.
    pub fn no_events(&self, filter: &Filter, counts: &Counts) -> String {
        let Counts { lines, filtered, keyless, .. } = *counts;
        let s = if lines == 1 { "" } else { "s" };
        if self.row.is_messages && filter.is_empty() && keyless == 0 {
            return format!(
                "{self}: {lines} line{s}, no failed login of sshd, Postfix, Dovecot or Exim among them; \
                 --message TEXT counts others"
            );
        }
        let all = format!("{} event{}", grouped(filtered + keyless), plural(filtered + keyless));
        match (filtered, keyless) {
            (0, 0) => "there are no events".to_owned(),
            (0, _) => format!("none of {all} has a field of the key; choose another key"),
            (_, 0) => format!("the filter leaves none of {all}: {filter}"),
            (_, n) => {
                format!("the filter leaves {n} of {all}, none with a field of the key: {filter}")
            }
        }
    }

    /// The programs, of `sshd`, `postfix`, `dovecot` and `exim`, whose failed logins are the events of the first lines,
    /// the most frequent first; empty for formats other than syslog.
    pub fn programs(&self) -> &[&'static str] {
        self.form.programs()
    }

    /// The plural noun for the events of the log: one of the [`nouns`](crate::nouns).
    pub fn events(&self, filter: &Filter) -> &'static str {
        self.row.nouns.get(self.form.noun(filter)).copied().unwrap_or("events")
    }

    /// Tells whether the lines may have a list of forwarded addresses.
    pub fn has_forwarded(&self) -> bool {
        let is_forwarded = |fields: &[String]| fields.iter().any(|field| field == "forwarded");
        self.has_forwarded || self.fields().is_some_and(is_forwarded)
    }

    /// The fields that the lines may have; `None` if each line may have others, as in JSON.
    pub fn fields(&self) -> Option<&[String]> {
        self.fields.as_deref()
    }

    /// Tells whether [aliases](Options::aliases) have an effect: the lines name their fields.
    pub fn takes_aliases(&self) -> bool {
        self.row.takes_aliases
    }

    /// The key of clients, also of a limit without `per`. If the options have none, it is the address; in CSV the
    /// column `key`, or without it all events together.
    pub fn key(&self, options: &Options) -> Per {
        let usual = || self.form.key().parse().unwrap_or_default();
        options.key.clone().unwrap_or_else(usual)
    }

    /// Refuses a key with a field that the lines of the log do not have.
    ///
    /// # Errors
    /// When a field is unknown; the error names it and the known fields.
    pub fn check_key(&self, key: &Per) -> Result<(), ParseError> {
        key.fields().iter().try_for_each(|name| check_field(name, self.fields()))
    }

    /// How late a line may be and still be sorted; `None` if lines are not sorted, as in CSV, whose times may be
    /// anything.
    pub fn usual_slack(&self, spread: Spread) -> Option<Span> {
        let as_it_comes = self.row.is_in_order && spread != Spread::Always;
        (!as_it_comes).then_some(SLACK)
    }
}

/// Writes the shape for people, as in `Combined Log Format, after a column with the host`.
impl fmt::Display for LogShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.about)?;
        // The header of a message is a part of the format, so it is not repeated.
        let is_own = |wrapper| self.row.is_messages && wrapper == Wrapper::Syslog;
        let mut around = self.wrappers.iter().rev().filter(|wrapper| !is_own(**wrapper));
        around.try_for_each(|wrapper| write!(f, ", {}", wrapper.about()))?;
        if self.is_export { f.write_str(", of an exported journal") } else { Ok(()) }
    }
}
