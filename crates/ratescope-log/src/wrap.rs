//! Wrappers: the text that one program writes around the lines of another.
//!
//! | wrapper | written by |
//! |---|---|
//! | `Oct 10 13:55:36 web1 nginx[7]: ...` | syslog, in the forms of [`header`] |
//! | `2000-10-10T13:55:36.123Z stdout F ...` | Kubernetes (CRI) |
//! | `2000-10-10T13:55:36.123Z ...` | `docker logs --timestamps` |
//! | `web-1  \| ...` | `docker compose logs` |
//! | `{"log":"...\n","stream":"stdout","time":"..."}` | docker, in its files |
//! | `{"MESSAGE":"...","_HOSTNAME":"web1"}` | the journal, rsyslog and others, also with `message` |
//! | `2000/10/10 13:55:36.123\tINFO\thttp.log.access\thandled request\t{...}` | Caddy's console |
//!
//! The wrappers of a log are recognized with its format. They are removed from each line, and any format may read the
//! text inside. Lines without a time take that of a wrapper.

mod header;

use super::instant::Instant;
use super::lines::nonblank;
use super::names::{Alias, Class, Standard, classify};
use super::number;
use super::object::Object;
use super::search;
use super::stamp::Stamps;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wrapper {
    Syslog,
    Container,
    Stamped,
    Compose,
    Console,
    Json,
}

/// The fields in the wrappers of a line.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Envelope<'a> {
    stamp: Stamp<'a>,
    pub(super) host: &'a str,
    pub(super) program: &'a str,
    pub(super) pid: &'a str,
    /// The number of equal lines that the line stands for, if a wrapper has it.
    pub(super) times: Option<u32>,
}

/// The time of a wrapper, read on demand.
#[derive(Clone, Copy, Debug, Default)]
enum Stamp<'a> {
    #[default]
    None,
    /// A time without a year.
    WithoutYear(&'a str),
    /// A time with a year, or a number.
    Any(&'a str),
}

impl<'a> Envelope<'a> {
    fn at(stamp: Stamp<'a>) -> Self {
        Envelope { stamp, ..Envelope::default() }
    }

    /// The time; `None` if no wrapper has a readable time.
    pub(super) fn instant(&self, stamps: &mut Stamps) -> Option<Instant> {
        match self.stamp {
            Stamp::None => None,
            Stamp::WithoutYear(text) => stamps.read_without_year(text).map(|(instant, _)| instant),
            Stamp::Any(text) => stamps.read(text).or_else(|| number::read(text, None)),
        }
    }

    /// The fields of both envelopes; the inner one wins.
    fn around(self, inner: Envelope<'a>) -> Self {
        let or = |inner: &'a str, outer| if inner.is_empty() { outer } else { inner };
        Envelope {
            stamp: if matches!(inner.stamp, Stamp::None) { self.stamp } else { inner.stamp },
            host: or(inner.host, self.host),
            program: or(inner.program, self.program),
            pid: or(inner.pid, self.pid),
            times: inner.times.or(self.times),
        }
    }
}

impl Wrapper {
    pub(super) const ALL: [Wrapper; 6] = [
        Wrapper::Container,
        Wrapper::Syslog,
        Wrapper::Stamped,
        Wrapper::Compose,
        Wrapper::Console,
        Wrapper::Json,
    ];

    /// A description for people, such as `in syslog`.
    pub(super) fn about(self) -> &'static str {
        match self {
            Wrapper::Syslog => "in syslog",
            Wrapper::Container => "in a container's log",
            Wrapper::Stamped => "after a time",
            Wrapper::Compose => "after the name of a container",
            Wrapper::Console => "in Caddy's console",
            Wrapper::Json => "in JSON",
        }
    }

    /// Removes a wrapper of text from a line: returns its fields and the text inside. `None` if the line has no such
    /// wrapper.
    #[inline]
    fn peel<'a>(self, line: &'a str) -> Option<(Envelope<'a>, &'a str)> {
        match self {
            Wrapper::Syslog => header::peel(line),
            Wrapper::Container => {
                let (stamp, rest) = iso(line)?;
                let rest = rest.strip_prefix("stdout ").or(rest.strip_prefix("stderr "))?;
                let (tag, inner) = search::split_once(rest, b' ')?;
                // A long line comes in parts: the last has the tag F, the others P.
                let is_tag =
                    matches!(tag, "F" | "P") || tag.starts_with("F:") || tag.starts_with("P:");
                is_tag.then_some((Envelope::at(stamp), inner))
            }
            Wrapper::Stamped => iso(line).map(|(stamp, inner)| (Envelope::at(stamp), inner)),
            Wrapper::Compose => {
                let (name, inner) = search::split_once(line, b'|')?;
                let name = name.strip_suffix(' ')?.trim_end_matches(' ');
                let is_part = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'-' | b'_' | b'.');
                let is_name = !name.is_empty() && name.bytes().all(is_part);
                let program = if is_name { name } else { return None };
                let envelope = Envelope { program, ..Envelope::default() };
                Some((envelope, inner.strip_prefix(' ').unwrap_or(inner)))
            }
            Wrapper::Console => {
                let mut parts = line.splitn(5, '\t');
                let time = parts.next()?;
                let _level = parts.next()?;
                let logger = parts.next()?;
                let message = parts.next()?;
                let inner = parts.next()?;
                let is_request = logger.starts_with("http.log.access") && inner.starts_with('{');
                let stamp = Stamp::Any(time);
                (is_request && !message.is_empty()).then_some((Envelope::at(stamp), inner))
            }
            Wrapper::Json => None,
        }
    }
}

/// Reads `2000-10-10T13:55:36.123Z ` at the beginning of a line; returns the time and the text after it.
fn iso(line: &str) -> Option<(Stamp<'_>, &str)> {
    let (stamp, rest) = search::split_once(line, b' ')?;
    let bytes = stamp.as_bytes();
    let is_time = bytes.first()?.is_ascii_digit()
        && (19..=40).contains(&bytes.len())
        && (bytes[4], bytes[10], bytes[13]) == (b'-', b'T', b':');
    is_time.then_some((Stamp::Any(stamp), rest))
}

/// The wrappers of a log, outermost first.
#[derive(Debug)]
pub(super) struct Layers {
    wrappers: Vec<Wrapper>,
    /// Keeps the text inside JSON, without its escapes.
    object: Object,
}

impl Layers {
    pub(super) fn new(wrappers: &[Wrapper]) -> Self {
        Layers { wrappers: wrappers.to_vec(), object: Object::of_parts(part) }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.wrappers.is_empty()
    }

    /// The problem of a line without these wrappers; `None` if the log may have other lines.
    #[cold]
    pub(super) fn missing(&self) -> Option<&'static str> {
        match self.wrappers.first()? {
            Wrapper::Syslog => Some("no time, host and program at the beginning"),
            Wrapper::Container => Some("no time, stdout or stderr, and F or P at the beginning"),
            Wrapper::Stamped => Some("no time at the beginning"),
            Wrapper::Compose => Some("no name of a container before a |"),
            Wrapper::Console | Wrapper::Json => None,
        }
    }

    /// Removes all wrappers from a line: returns their fields and the text inside. `None` if the line lacks a wrapper.
    #[inline]
    pub(super) fn peel<'a>(&'a mut self, line: &'a str) -> Option<(Envelope<'a>, &'a str)> {
        let mut envelope = Envelope::default();
        let mut inner = line;
        // No wrapper occurs twice, so one reader of JSON is enough.
        let mut object = Some(&mut self.object);
        for wrapper in &self.wrappers {
            let (next, rest) = match wrapper {
                Wrapper::Json => of_json(object.take()?, inner)?,
                text => text.peel(inner)?,
            };
            envelope = envelope.around(next);
            inner = rest;
        }
        Some((envelope, inner))
    }
}

/// The parts of a wrapper in JSON: the text inside and the fields about it. A [`Table`](super::table::Table)
/// can only find standard fields, so each part is kept as one of these. Each part has the names that the journal,
/// rsyslog, docker and log shippers give it, the best first.
const INNER: Standard = Standard::Request;
const HOST: Standard = Standard::Host;
const PROGRAM: Standard = Standard::Agent;
const PID: Standard = Standard::User;
const PARTS: [(Standard, &[&str]); 4] = [
    (INNER, &["MESSAGE", "message", "log", "textPayload", "event.original", "_raw"]),
    (HOST, &["_HOSTNAME", "host", "hostname"]),
    (PROGRAM, &["SYSLOG_IDENTIFIER", "_COMM", "program", "programname", "app-name"]),
    (PID, &["SYSLOG_PID", "_PID", "procid"]),
];

/// The part of a wrapper in the member of this name, or the time.
fn part(name: &str, aliases: &[Alias]) -> Option<Class> {
    let place = |(part, names): &(Standard, &[&str])| {
        Some((*part, names.iter().position(|known| *known == name)? as u8))
    };
    let is_time = |class: &Class| class.0 == Standard::Time;
    PARTS.iter().find_map(place).or_else(|| classify(name, aliases).filter(is_time))
}

/// Removes a wrapper in JSON from a line.
fn of_json<'a>(object: &'a mut Object, line: &'a str) -> Option<(Envelope<'a>, &'a str)> {
    if !line.starts_with('{') {
        return None;
    }
    if let Some(time) = object.docker(line) {
        let text = object.made().trim_end_matches('\n');
        return (!text.is_empty()).then_some((Envelope::at(Stamp::Any(time)), text));
    }
    let table = object.members(line).ok()?;
    let inner = table.of(INNER)?.trim_matches([' ', '\n', '\r']);
    let said = |part| table.of(part).unwrap_or("");
    let mut envelope = Envelope::at(table.of(Standard::Time).map_or(Stamp::None, Stamp::Any));
    envelope.host = said(HOST);
    envelope.program = said(PROGRAM);
    envelope.pid = said(PID);
    let (times, inner) = header::unrepeated(inner);
    envelope.times = times;
    (!inner.is_empty()).then_some((envelope, inner))
}

/// The most nested wrappers.
const DEEPEST: usize = 3;

/// All chains of wrappers that a line may have, each with its outermost wrapper first. The first chain is empty.
pub(super) fn chains(line: &str) -> Vec<Vec<Wrapper>> {
    let mut found = vec![Vec::new()];
    let mut from = 0;
    while let Some(chain) = found.get(from).cloned() {
        from += 1;
        let each = Wrapper::ALL.into_iter().filter(|wrapper| !chain.contains(wrapper));
        for wrapper in each.filter(|_| chain.len() < DEEPEST) {
            let longer = [&chain[..], &[wrapper]].concat();
            if Layers::new(&longer).peel(line).is_some() {
                found.push(longer);
                // Other wrappers would read its `stdout` as a host, and its `F` as a column.
                if wrapper == Wrapper::Container {
                    break;
                }
            }
        }
    }
    found
}

/// Passes on the text inside these wrappers of each line of `text` that has them.
pub(super) fn inside(
    text: &str,
    wrappers: &[Wrapper],
    on_line: &mut dyn FnMut(&Envelope<'_>, &str),
) {
    let mut layers = Layers::new(wrappers);
    for line in nonblank(text) {
        if let Some((envelope, inner)) = layers.peel(line) {
            on_line(&envelope, inner);
        }
    }
}
