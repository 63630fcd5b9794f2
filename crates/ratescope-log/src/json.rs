//! JSON lines: one object a line, as nginx, Caddy, Traefik and Envoy write them if so configured.
//!
//! ```text
//! {"time_iso8601":"2000-10-10T13:55:36-07:00","remote_addr":"192.0.2.7","request_uri":"/a","status":200}
//! {"ts":971211336.25,"request":{"remote_ip":"192.0.2.7","method":"GET","uri":"/a"},"status":200}
//! ```
//!
//! Fields may have any names; [`names`](super::names) lists the known ones. A value in an inner object has a name such
//! as `request.remote_ip`. Only the first value of a list counts, as for Caddy's headers. A time may be a number or a
//! text. An object without a time is not an event, since a server may write other objects to the same log.
//!
//! Source: RFC 8259.

mod escape;
mod scan;

use super::format::{Guess, LogForm, LogShape, Reason};
use super::forwarded;
use super::names::{Alias, Class, SAID, Standard, classify};
use super::options::Options;
use super::stamp::{Instant, Stamps, Year};
use super::table::{Best, Excerpt, Named, Places, Table};
use memchr::memchr2;

/// Reads lines, and reuses its memory for each of them.
#[derive(Clone, Debug)]
pub(super) struct Json {
    names: Vec<Excerpt>,
    values: Vec<Excerpt>,
    /// Texts that differ from the line: with escapes replaced, or joined from several names.
    made: String,
    places: Places,
    aliases: Vec<Alias>,
    classify: fn(&str, &[Alias]) -> Option<Class>,
    /// A cache of the names in the last line and their classes, since lines are usually alike.
    known: Vec<(String, Option<Class>)>,
    /// Objects of Caddy that are not about requests are left out.
    pub(super) only_requests: bool,
}

/// Recognizes a line that is an object with a time.
pub(super) fn guess(
    line: &str,
    options: &Options,
    outer: Option<Instant>,
) -> Result<Guess, Reason> {
    if !line.trim_start().starts_with('{') {
        return Err("not an object in braces".into());
    }
    let mut json = Json::new(options.aliases.clone());
    let read = json.read(line, &mut Stamps::new(Year::Any, options.unit), outer)?;
    let Some((_, table)) = read else {
        return Err("an object without a time; name its field, as in --field time=when".into());
    };
    let only_requests = table.value("logger").is_some_and(is_access);
    let mut shape = LogShape::new(LogForm::Json { only_requests }, about(&table), None);
    shape.has_forwarded = table.standard(Standard::Forwarded).is_some();
    Ok(Guess::new(shape, if is_other(&table) { Guess::OTHER } else { table.points() }))
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

impl Json {
    pub(super) fn new(aliases: Vec<Alias>) -> Self {
        Json { aliases, ..Json::of_parts(classify) }
    }

    /// A reader that uses `classify` to find the standard fields.
    pub(super) fn of_parts(classify: fn(&str, &[Alias]) -> Option<Class>) -> Self {
        Json {
            names: Vec::new(),
            values: Vec::new(),
            made: String::new(),
            places: Places::default(),
            aliases: Vec::new(),
            classify,
            known: Vec::new(),
            only_requests: false,
        }
    }

    /// The event of a line; `None` if it has no time, or if only requests are read and it is not one. A line without a
    /// time takes that of `outer`.
    pub(super) fn read<'a>(
        &'a mut self,
        line: &'a str,
        stamps: &mut Stamps,
        outer: Option<Instant>,
    ) -> Result<Option<(Instant, Table<'a>)>, Reason> {
        let only_requests = self.only_requests;
        let table = self.members(line)?;
        if only_requests && !table.value("logger").is_some_and(is_access) {
            return Ok(None);
        }
        let Some(time) = table.standard(Standard::Time) else {
            return Ok(outer.map(|instant| (instant, table)));
        };
        match stamps.read_any(time) {
            Some(instant) => Ok(Some((instant, table))),
            None => Err(format!("not a time: {time}").into()),
        }
    }

    /// The members of the object in a line.
    pub(super) fn members<'a>(&'a mut self, line: &'a str) -> Result<Table<'a>, Reason> {
        scan::members(line, &mut self.names, &mut self.values, &mut self.made)?;
        self.place(line);
        let Json { names, values, made, places, .. } = self;
        Ok(Table { line, made, names: Named::OfLine(names), values, places })
    }

    /// Reads a line as docker writes it, always in the form `{"log":"...","stream":"stdout","time":"..."}`, in one
    /// pass. Returns the time; [`made`](Self::made) then returns the text. `None` for any other line.
    pub(super) fn docker<'a>(&mut self, line: &'a str) -> Option<&'a str> {
        let rest = line.strip_prefix("{\"log\":\"")?;
        self.made.clear();
        let length = escape::unescape(rest, &mut self.made)?;
        let rest = rest.get(length..)?.strip_prefix(",\"stream\":\"std")?;
        let rest = rest.strip_prefix("out").or_else(|| rest.strip_prefix("err"))?;
        let time = rest.strip_prefix("\",\"time\":\"")?.strip_suffix("\"}")?;
        memchr2(b'"', b'\\', time.as_bytes()).is_none().then_some(time)
    }

    /// The texts made from the last line, such as those with escapes replaced.
    pub(super) fn made(&self) -> &str {
        &self.made
    }

    /// Finds the best member for each standard field.
    fn place(&mut self, line: &str) {
        let mut best = Best::default();
        self.known.resize(self.known.len().max(self.names.len()), (String::new(), None));
        let members = self.names.iter().zip(&self.values).zip(&mut self.known);
        for (i, ((name, value), known)) in members.enumerate() {
            let name = name.text(line, &self.made);
            if known.0 != name {
                *known = (name.to_owned(), (self.classify)(name, &self.aliases));
            }
            // A null or a dash counts as missing, so that the next best name is used. So does a value that can't be a
            // client or a status under a name of other servers for these.
            if let Some((standard, rank)) = known.1 {
                let text = value.text(line, &self.made);
                let is_of_kind = || match standard {
                    Standard::Ip => forwarded::are_clients(text),
                    Standard::Status => may_be_status(text),
                    _ => true,
                };
                if !matches!(text, "" | "-") && (rank <= SAID || is_of_kind()) {
                    best.offer((standard, rank), i as u16);
                }
            }
        }
        self.places = best.places;
    }
}

/// Tells whether a text may be the status of an answer. A `code` may be that of an event or of an error, too.
fn may_be_status(text: &str) -> bool {
    text.len() <= 3 && text.bytes().all(|b| b.is_ascii_digit())
}
