//! The formats of logs.

use super::clf::Beside;
use super::csv::Header;
use super::exim::Events;
use super::filter::Filter;
use super::layout::Layout;
use super::logins::LeftOut;
use super::reader::Counts;
use super::wrap::Wrapper;
use core::fmt;
use ratescope::internal::{by_name, grouped, plural};
use std::borrow::Cow;
use std::sync::Arc;

#[doc = include_str!("formats.md")]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Format {
    /// Common and Combined Log Format, `combined`.
    Combined,
    /// JSON lines, `json`.
    Json,
    /// Exim's main log or reject log, `exim`.
    Exim,
    /// `syslog`.
    Syslog,
    /// Comma-separated values, `csv`.
    Csv,
    /// Columns in a known order, given as a [`Layout`] or guessed: `columns`.
    Columns,
}

/// The names of formats, and of servers with this format by default. The first name of a format is its text form.
const NAMES: [(Format, &str); 26] = [
    (Format::Json, "json"),
    (Format::Combined, "combined"),
    (Format::Exim, "exim"),
    (Format::Syslog, "syslog"),
    (Format::Csv, "csv"),
    (Format::Columns, "columns"),
    (Format::Combined, "nginx"),
    (Format::Combined, "apache"),
    (Format::Combined, "lighttpd"),
    (Format::Combined, "varnish"),
    (Format::Combined, "traefik"),
    (Format::Json, "caddy"),
    (Format::Json, "docker"),
    (Format::Columns, "haproxy"),
    (Format::Columns, "envoy"),
    (Format::Columns, "istio"),
    (Format::Columns, "squid"),
    (Format::Columns, "w3c"),
    (Format::Columns, "iis"),
    (Format::Columns, "alb"),
    (Format::Columns, "cloudfront"),
    (Format::Syslog, "sshd"),
    (Format::Syslog, "postfix"),
    (Format::Syslog, "dovecot"),
    (Format::Syslog, "journal"),
    (Format::Syslog, "rsyslog"),
];

impl Format {
    /// All formats, in the order in which they are tried.
    pub const ALL: [Format; 6] = [
        Format::Json,
        Format::Combined,
        Format::Exim,
        Format::Syslog,
        Format::Csv,
        Format::Columns,
    ];
}

by_name!(Format, NAMES, "not a format of logs; write one of {}");

/// The reason why a line cannot be read.
pub(super) type Reason = Cow<'static, str>;

/// A format in which a line can be read, and how well it fits.
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
}

/// A format, and its variant, as the first lines of the log show it.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum LogForm {
    Combined(Beside),
    Json {
        /// Only requests are events, since the log is Caddy's and has other objects.
        only_requests: bool,
    },
    Exim(Events),
    Syslog,
    Csv(Header),
    Columns(Arc<Layout>),
}

/// A format, and the properties of the log that its first lines show.
#[derive(Clone, Debug)]
pub struct LogShape {
    pub(super) form: LogForm,
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
    /// The programs whose other messages about failed logins do not count.
    pub(super) left_out: LeftOut,
    /// The lines of JSON have an X-Forwarded-For.
    pub(super) has_forwarded: bool,
}

/// The plural nouns for the events of logs.
pub const NOUNS: [&str; 6] =
    ["requests", "mails", "refusals", "failed logins", "messages", "events"];

impl LogShape {
    pub(super) fn new(form: LogForm, about: String, fields: Option<Vec<String>>) -> Self {
        LogShape {
            form,
            about,
            fields,
            wrappers: Vec::new(),
            program: String::new(),
            is_export: false,
            many_peers: false,
            left_out: LeftOut::default(),
            has_forwarded: false,
        }
    }

    /// A shape whose lines have only these fields.
    pub(super) fn with(
        form: LogForm,
        about: &str,
        fields: impl IntoIterator<Item = &'static str>,
    ) -> Self {
        let fields = fields.into_iter().map(str::to_owned).collect();
        LogShape::new(form, about.to_owned(), Some(fields))
    }

    /// The format.
    pub fn format(&self) -> Format {
        match self.form {
            LogForm::Combined(_) => Format::Combined,
            LogForm::Json { .. } => Format::Json,
            LogForm::Exim(_) => Format::Exim,
            LogForm::Syslog => Format::Syslog,
            LogForm::Csv(_) => Format::Csv,
            LogForm::Columns(_) => Format::Columns,
        }
    }

    /// The columns of the first lines, if the format has columns.
    pub(super) fn layout(&self) -> Option<&Arc<Layout>> {
        if let LogForm::Columns(layout) = &self.form { Some(layout) } else { None }
    }

    pub(super) fn has_column(&self, name: &str) -> bool {
        matches!(&self.form, LogForm::Csv(columns) if columns.has(name))
    }

    /// Tells whether each line can be read without the lines before it. Lines with the time of syslog cannot: without a
    /// year, it follows from earlier lines. Nor can lines under `#Fields` headers inside the log of another program:
    /// [`Pieces`](super::Pieces) finds only bare headers.
    pub fn is_divisible(&self) -> bool {
        let is_whole = match &self.form {
            LogForm::Syslog => false,
            LogForm::Columns(layout) => layout.between.is_none() || self.wrappers.is_empty(),
            _ => true,
        };
        let own_time = match &self.form {
            LogForm::Combined(_) => true,
            LogForm::Columns(layout) => layout.has_time(),
            _ => false,
        };
        // An entry of an exported journal has several lines.
        let is_whole = is_whole && !self.is_export;
        is_whole && (own_time || !self.wrappers.contains(&Wrapper::Syslog))
    }

    /// Tells whether both have the same format, variant and wrappers.
    pub(super) fn is_like(&self, other: &LogShape) -> bool {
        let is_json = |shape: &LogShape| matches!(shape.form, LogForm::Json { .. });
        (self.form == other.form || is_json(self) && is_json(other))
            && self.wrappers == other.wrappers
    }

    /// A sentence that says why the log has no events.
    pub fn no_events(&self, filter: &Filter, counts: &Counts) -> String {
        let Counts { lines, filtered, keyless, .. } = *counts;
        let s = if lines == 1 { "" } else { "s" };
        if self.format() == Format::Syslog && filter.is_empty() && keyless == 0 {
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

    /// The plural noun for the events of the log: one of [`NOUNS`].
    pub fn events(&self, filter: &Filter) -> &'static str {
        let [requests, mails, refusals, failed_logins, messages, events] = NOUNS;
        match self.form {
            LogForm::Combined(_) | LogForm::Columns(_) => requests,
            LogForm::Exim(Events::Refusals) => refusals,
            LogForm::Exim(Events::Arrivals) => mails,
            LogForm::Exim(Events::Logins) => failed_logins,
            LogForm::Syslog if filter.messages.is_empty() => failed_logins,
            LogForm::Syslog => messages,
            LogForm::Json { .. } | LogForm::Csv(_) => events,
        }
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
}

/// Writes the shape for people, as in `Combined Log Format, after a column with the host`.
impl fmt::Display for LogShape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.about)?;
        // The wrapper syslog is a part of the format syslog, so it is not repeated.
        let is_own = |wrapper| self.form == LogForm::Syslog && wrapper == Wrapper::Syslog;
        let mut around = self.wrappers.iter().rev().filter(|wrapper| !is_own(**wrapper));
        around.try_for_each(|wrapper| write!(f, ", {}", wrapper.about()))?;
        if self.is_export { f.write_str(", of an exported journal") } else { Ok(()) }
    }
}
