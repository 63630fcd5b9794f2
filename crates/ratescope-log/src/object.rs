//! Objects of JSON, one a line, as tables of names and values.
//!
//! A value in an inner object has a name such as `request.remote_ip`. Only the first value of a list counts, as for
//! Caddy's headers.
//!
//! Source: RFC 8259.

mod escape;
mod scan;

use super::counts::Reason;
use super::forwarded;
use super::names::{Alias, Class, SAID, Standard, classify};
use super::table::{Best, Excerpt, Named, Places, Table};
use memchr::memchr2;

/// Reads objects, and reuses its memory for each of them.
#[derive(Clone, Debug)]
pub(super) struct Object {
    names: Vec<Excerpt>,
    values: Vec<Excerpt>,
    /// Texts that differ from the line: with escapes replaced, or joined from several names.
    made: String,
    places: Places,
    aliases: Vec<Alias>,
    classify: fn(&str, &[Alias]) -> Option<Class>,
    /// A cache of the names in the last line and their classes, since lines are usually alike.
    known: Vec<(String, Option<Class>)>,
}

impl Object {
    pub(super) fn new(aliases: Vec<Alias>) -> Self {
        Object { aliases, ..Object::of_parts(classify) }
    }

    /// A reader that uses `classify` to find the standard fields.
    pub(super) fn of_parts(classify: fn(&str, &[Alias]) -> Option<Class>) -> Self {
        Object {
            names: Vec::new(),
            values: Vec::new(),
            made: String::new(),
            places: Places::default(),
            aliases: Vec::new(),
            classify,
            known: Vec::new(),
        }
    }

    /// The members of the object in a line.
    pub(super) fn members<'a>(&'a mut self, line: &'a str) -> Result<Table<'a>, Reason> {
        scan::members(line, &mut self.names, &mut self.values, &mut self.made)?;
        self.place(line);
        let Object { names, values, made, places, .. } = self;
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
