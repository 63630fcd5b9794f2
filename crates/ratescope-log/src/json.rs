//! JSON lines: one object a line, as nginx, Caddy, Traefik and Envoy write them if so configured.
//!
//! ```text
//! {"time_iso8601":"2000-10-10T13:55:36-07:00","remote_addr":"192.0.2.7","request_uri":"/a","status":200}
//! {"ts":971211336.25,"request":{"remote_ip":"192.0.2.7","method":"GET","uri":"/a"},"status":200}
//! ```
//!
//! Fields may have any names; [`names`](super::names) lists the known ones. A time may be a number or a text. An object
//! without a time is not an event, since a server may write other objects to the same log.

use super::counts::Reason;
use super::instant::Instant;
use super::names::{Alias, Standard};
use super::object::Object;
use super::options::Options;
use super::record::Values;
use super::shape::{
    FirstLine, Format, FormatRow, Guess, Line, LogFormat, LogShape, OnEvent, Parser, pass,
};
use super::stamp::{Stamps, Year};
use super::table::Table;

impl Format {
    /// JSON lines.
    pub const JSON: Format = Format("json");
}

pub(super) static ROW: FormatRow = FormatRow {
    servers: &["caddy", "docker"],
    takes_aliases: true,
    ..FormatRow::new(Format::JSON, &["events"], guess)
};

/// Objects, of which each may have other fields.
#[derive(Debug)]
struct Objects {
    /// Only requests are events, since the log is Caddy's and has other objects.
    only_requests: bool,
}

impl LogFormat for Objects {
    fn open(&self, _: &LogShape, options: &Options) -> Box<dyn Parser> {
        Box::new(Lines::new(&options.aliases, self.only_requests))
    }
}

/// Recognizes a line that is an object with a time.
fn guess(line: &mut FirstLine<'_>) -> Result<Vec<Guess>, Reason> {
    one(line.text, line.options, line.outer()).map(|guess| vec![guess])
}

fn one(line: &str, options: &Options, outer: Option<Instant>) -> Result<Guess, Reason> {
    if !line.trim_start().starts_with('{') {
        return Err("not an object in braces".into());
    }
    let mut lines = Lines::new(&options.aliases, false);
    let read = lines.read(line, &mut Stamps::new(Year::Any, options.unit), outer)?;
    let Some((_, table)) = read else {
        return Err("an object without a time; name its field, as in --field time=when".into());
    };
    let only_requests = table.value("logger").is_some_and(is_access);
    let mut shape = LogShape::new(&ROW, Objects { only_requests }, about(&table), None);
    shape.has_forwarded = table.of(Standard::Forwarded).is_some();
    let points = Guess::points(table.of(Standard::Ip));
    Ok(Guess::new(shape, if is_other(&table) { Guess::OTHER } else { points }))
}

/// Knows the loggers of Caddy that log requests.
fn is_access(logger: &str) -> bool {
    logger.starts_with("http.log.access")
}

/// Knows the objects of Caddy about failed requests. The request itself has another line.
fn is_other(table: &Table<'_>) -> bool {
    table.value("logger").is_some_and(|logger| logger.starts_with("http.log.error"))
}

/// Says in which fields of the line the standard fields were found.
fn about(table: &Table<'_>) -> String {
    let named = |standard: Standard| {
        let field = table.name_of(standard).filter(|field| *field != standard.name())?;
        Some(format!("{} from {field}", standard.name()))
    };
    use Standard::{Ip, Method, Path, Status, Time, User};
    let parts: Vec<String> =
        [Time, Ip, User, Method, Path, Status].into_iter().filter_map(named).collect();
    if parts.is_empty() {
        "JSON lines".to_owned()
    } else {
        format!("JSON lines: {}", parts.join(", "))
    }
}

#[derive(Debug)]
struct Lines {
    object: Object,
    only_requests: bool,
}

impl Lines {
    fn new(aliases: &[Alias], only_requests: bool) -> Self {
        Lines { object: Object::new(aliases.to_vec()), only_requests }
    }

    /// The event of a line; `None` if it has no time, or if only requests are read and it is not one. A line without a
    /// time takes that of `outer`.
    fn read<'a>(
        &'a mut self,
        line: &'a str,
        stamps: &mut Stamps,
        outer: Option<Instant>,
    ) -> Result<Option<(Instant, Table<'a>)>, Reason> {
        let only_requests = self.only_requests;
        let table = self.object.members(line)?;
        if only_requests && !table.value("logger").is_some_and(is_access) {
            return Ok(None);
        }
        let Some(time) = table.of(Standard::Time) else {
            return Ok(outer.map(|instant| (instant, table)));
        };
        match stamps.read_any(time) {
            Some(instant) => Ok(Some((instant, table))),
            None => Err(format!("not a time: {time}").into()),
        }
    }
}

impl Parser for Lines {
    fn read(&mut self, line: Line<'_>, on_event: &mut OnEvent<'_>) -> Result<bool, Reason> {
        let outer = line.around.instant(line.stamps);
        Ok(pass(self.read(line.text, line.stamps, outer)?, on_event))
    }
}

/// Why the first line of a log that begins like JSON is not read as JSON; `None` for any other line.
pub(super) fn why_not(line: &str, options: &Options) -> Option<Reason> {
    if line.starts_with('{') { one(line, options, None).err() } else { None }
}
