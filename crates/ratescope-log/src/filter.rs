//! The filter that chooses the events of a log.

use super::names::Standard;
use super::network::network;
use super::record::Record;
use super::request;
use super::stamp::Stamps;
use core::fmt;
use core::ops::RangeInclusive;
use core::str::FromStr;
use ipnet::IpNet;
use ratescope::address;
use ratescope::text::ParseError;
use ratescope::time::Time;
#[cfg(feature = "expressions")]
use regex_lite::{Regex, RegexBuilder};

/// The conditions for events. Of each list of paths, methods, statuses and messages, one must match, unless the list is
/// empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Filter {
    /// Beginnings of the path.
    pub paths: Vec<String>,
    /// Methods, in either case.
    pub methods: Vec<String>,
    /// Statuses of the response.
    pub statuses: Vec<Statuses>,
    /// Texts of which the message of a syslog line must contain one. Without any, failed logins are wanted.
    pub messages: Vec<String>,
    /// Events before this time are left out.
    pub since: Option<WrittenTime>,
    /// Events at this time or later are left out.
    pub until: Option<WrittenTime>,
    /// Tests that an event must pass, all of them.
    pub also: Vec<Test>,
    /// Tests that an event must fail, all of them.
    pub not: Vec<Test>,
}

impl Filter {
    /// Tells whether there are no conditions, so that every event is wanted.
    pub fn is_empty(&self) -> bool {
        *self == Filter::default()
    }

    /// The fields that the conditions are about, apart from the time.
    pub(super) fn fields(&self) -> impl Iterator<Item = &str> {
        let each = [
            (self.paths.is_empty(), "path"),
            (self.methods.is_empty(), "method"),
            (self.statuses.is_empty(), "status"),
        ];
        let wanted = each.into_iter().filter(|(unused, _)| !unused).map(|(_, name)| name);
        wanted.chain(self.also.iter().chain(&self.not).map(Test::field))
    }

    /// Compares an event with all conditions but those of its message, which the parser has already checked.
    #[inline]
    pub(super) fn wants(&self, record: &Record<'_>) -> bool {
        let fits =
            |standard, fits: &dyn Fn(&str) -> bool| record.standard(standard).is_some_and(fits);
        (self.paths.is_empty()
            || fits(Standard::Path, &|target| {
                let path = request::path(target);
                self.paths.iter().any(|begin| path.starts_with(begin.as_str()))
            }))
            && (self.methods.is_empty()
                || fits(Standard::Method, &|method| {
                    self.methods.iter().any(|known| known.eq_ignore_ascii_case(method))
                }))
            && (self.statuses.is_empty()
                || fits(Standard::Status, &|status| {
                    status.parse().is_ok_and(|code| self.statuses.iter().any(|s| s.has(code)))
                }))
            && self.since.as_ref().is_none_or(|since| record.time() >= since.time)
            && self.until.as_ref().is_none_or(|until| record.time() < until.time)
            && self.also.iter().all(|also| also.is(record))
            && !self.not.iter().any(|not| not.is(record))
    }
}

/// Writes the conditions for people, as in `path /api or /login and method POST`.
impl fmt::Display for Filter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let statuses: Vec<String> = self.statuses.iter().map(ToString::to_string).collect();
        let lists = [
            ("path", &self.paths),
            ("method", &self.methods),
            ("status", &statuses),
            ("message", &self.messages),
        ];
        let lists = lists.into_iter().filter(|(_, list)| !list.is_empty());
        let lists = lists.map(|(name, list)| format!("{name} {}", list.join(" or ")));
        let moments = [("since", &self.since), ("until", &self.until)];
        let moments =
            moments.into_iter().filter_map(|(name, at)| Some(format!("{name} {}", at.as_ref()?)));
        let also = self.also.iter().map(ToString::to_string);
        let not = self.not.iter().map(|not| format!("not {not}"));
        let all: Vec<String> = lists.chain(moments).chain(also).chain(not).collect();
        f.write_str(&all.join(" and "))
    }
}

/// A time as the user wrote it: `2026-11-22`, `2026-11-22T10:05` or `2026-11-22T10:05:30+01:00`, in UTC without a zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WrittenTime {
    text: String,
    time: Time,
}

impl FromStr for WrittenTime {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // The time of day or the seconds may be left out, and are then zero.
        let whole = match text.len() {
            10 => format!("{text}T00:00:00"),
            16 => format!("{text}:00"),
            _ => text.to_owned(),
        };
        let read = Stamps::default().read(&whole);
        let help =
            || ParseError::whole(text, "write a time such as 2026-11-22 or 2026-11-22T10:05");
        let time = read.ok_or_else(help)?.time;
        Ok(WrittenTime { text: text.to_owned(), time })
    }
}

impl fmt::Display for WrittenTime {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

/// A range of statuses: `404`, `4xx` or `400-403`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Statuses(RangeInclusive<u16>);

impl Statuses {
    /// Tells whether `status` is in the range.
    pub fn has(&self, status: u16) -> bool {
        self.0.contains(&status)
    }
}

impl FromStr for Statuses {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        // Squid writes the status 0 for a request that the client aborted.
        let code =
            |text: &str| text.parse().ok().filter(|code| (100..1000).contains(code) || *code == 0);
        let class = |digit: u16| digit * 100..=digit * 100 + 99;
        let range = match (text.strip_suffix("xx"), text.split_once('-')) {
            (Some(digit), _) => digit.parse().ok().filter(|d| (1..10).contains(d)).map(class),
            (_, Some((from, to))) => code(from).zip(code(to)).map(|(from, to)| from..=to),
            _ => code(text).map(|code| code..=code),
        };
        range
            .filter(|range| !range.is_empty())
            .map(Statuses)
            .ok_or_else(|| ParseError::whole(text, "not a status; write 404, 4xx or 400-403"))
    }
}

impl fmt::Display for Statuses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let from = self.0.start();
        let to = self.0.end();
        if from == to {
            write!(f, "{from}")
        } else if from.is_multiple_of(100) && to - from == 99 {
            write!(f, "{}xx", from / 100)
        } else {
            write!(f, "{from}-{to}")
        }
    }
}

/// A test of a field. `ip=192.0.2.0/24` and `peer=` match an address or a network; `path=/health` the beginning of the
/// path; `agent=bot` a part of any other field; and `agent~^curl/[78]` a regular expression, in linear time (feature
/// `expressions`).
#[derive(Clone, Debug)]
pub struct Test {
    field: String,
    sign: char,
    text: String,
    fits: Fits,
}

/// How the value of a field is compared with the text.
#[derive(Clone, Debug)]
enum Fits {
    Network(IpNet),
    Begins,
    Contains,
    #[cfg(feature = "expressions")]
    Expression(Regex),
}

/// The most characters of a regular expression.
#[cfg(feature = "expressions")]
const LONGEST: usize = 1000;
/// The most bytes of a compiled regular expression.
#[cfg(feature = "expressions")]
const LARGEST: usize = 1 << 18;

impl Test {
    fn field(&self) -> &str {
        &self.field
    }

    /// Puts an event to the test. One without the field does not pass.
    fn is(&self, record: &Record<'_>) -> bool {
        let Some(value) = record.raw(&self.field) else { return false };
        let value = if self.field == "path" { request::path(value) } else { value };
        match &self.fits {
            Fits::Network(network) => {
                address::parse(value).is_some_and(|address| network.contains(&address))
            }
            Fits::Begins => value.starts_with(&self.text),
            Fits::Contains => value.contains(&self.text),
            #[cfg(feature = "expressions")]
            Fits::Expression(expression) => expression.is_match(value),
        }
    }
}

/// Tests are equal if their texts are.
impl PartialEq for Test {
    fn eq(&self, other: &Self) -> bool {
        (&self.field, self.sign, &self.text) == (&other.field, other.sign, &other.text)
    }
}

impl Eq for Test {}

impl FromStr for Test {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = |problem| Err(ParseError::whole(text, problem));
        let (field, rest) = text.split_at(text.find(['=', '~']).unwrap_or(text.len()));
        let mut rest = rest.chars();
        let sign = rest.next();
        let value = rest.as_str();
        let Some(sign) = sign.filter(|_| !value.is_empty()) else {
            return wrong(
                "write a field and a text, as in agent=bot, path=/health, ip=192.0.2.0/24 or agent~^curl",
            );
        };
        let fits = match (sign, field) {
            ('~', _) => expression(value).map_err(|problem| ParseError::whole(text, problem))?,
            (_, "ip" | "peer") => {
                Fits::Network(network(value).map_err(|problem| ParseError::whole(text, problem))?)
            }
            (_, "path") => Fits::Begins,
            _ => Fits::Contains,
        };
        Ok(Test { field: field.to_owned(), sign, text: value.to_owned(), fits })
    }
}

/// Reads a regular expression.
#[cfg(feature = "expressions")]
fn expression(text: &str) -> Result<Fits, String> {
    if text.chars().count() > LONGEST {
        return Err("a regular expression of more than 1,000 characters".to_owned());
    }
    let read = RegexBuilder::new(text).size_limit(LARGEST).build();
    read.map(Fits::Expression).map_err(|error| error.to_string())
}

#[cfg(not(feature = "expressions"))]
fn expression(_: &str) -> Result<Fits, &'static str> {
    Err("only ratescope tune reads regular expressions; write a text, as in agent=bot")
}

impl fmt::Display for Test {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}{}", self.field, self.sign, self.text)
    }
}
