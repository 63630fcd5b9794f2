//! Which events a limit is for, as a test of their fields.

use crate::read::said;
use core::net::IpAddr;
use ipnet::IpNet;
use ratescope::address;
use ratescope::event::Fields;
use regex_lite::{Regex, RegexBuilder};
use std::collections::BTreeSet;

/// The events that a limit is for, as far as their fields tell.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Only {
    /// All that come to the server, or to a part of it that has a log of its own, as a frontend or a port has.
    #[default]
    All,
    /// Those that pass a test.
    Fields(Test),
    /// No field tells. The text is the condition, in the words of the configuration.
    Unknown(String),
}

/// A test of an event's fields.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Test {
    /// All of these.
    All(Vec<Test>),
    /// One of these at least.
    Any(Vec<Test>),
    /// Not this.
    Not(Box<Test>),
    /// A field, by its name in a log, and the test of its value.
    Field(String, Is),
}

/// A test of the value of a field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Is {
    /// Not empty.
    Given,
    /// This text. Hosts and methods are compared in either case.
    Exactly(String),
    /// A text that begins with this.
    Begins(String),
    /// A text that matches this regular expression.
    Like(String),
    /// An address in this network.
    Within(IpNet),
}

/// The longest regular expression, and the most bytes of a compiled one.
const LONGEST: usize = 1000;
const LARGEST: usize = 1 << 18;

/// The most tests of a limit.
const MOST: usize = 1000;

/// The most values of one condition by which events are told apart: many limits may have a condition, and its list may be
/// long.
pub(crate) const VALUES: usize = 60;

impl Only {
    /// Adds a condition: events must meet both.
    pub(crate) fn and(&mut self, other: Only) {
        *self = match (core::mem::take(self), other) {
            (Only::All, it) | (it, Only::All) => it,
            (it @ Only::Unknown(_), _) | (_, it @ Only::Unknown(_)) => it,
            (Only::Fields(one), Only::Fields(two)) => Only::Fields(Test::all([one, two])),
        };
    }

    /// A test, or without one a condition for which no field tells whether it holds.
    pub(crate) fn of(test: Option<Test>, condition: &str) -> Self {
        let untold = || Only::Unknown(format!("no log tells when {} holds", said(condition)));
        test.map_or_else(untold, Only::from)
    }
}

/// Nothing but a test that always holds is `All`.
impl From<Test> for Only {
    fn from(test: Test) -> Self {
        if test.is_always() { Only::All } else { Only::Fields(test) }
    }
}

impl Test {
    pub(crate) fn field(name: &str, is: Is) -> Self {
        Test::Field(name.to_owned(), is)
    }

    /// A field that has one of some values; `None` without values, with more than [`VALUES`], or with one that can't be
    /// read.
    pub(crate) fn one_of<T>(
        name: &str,
        values: impl IntoIterator<Item = T>,
        is: impl Fn(T) -> Option<Is>,
    ) -> Option<Self> {
        let tests =
            values.into_iter().take(VALUES + 1).map(|value| Some(Test::field(name, is(value)?)));
        let tests = tests.collect::<Option<Vec<Test>>>()?;
        (1..=VALUES).contains(&tests.len()).then(|| Test::any(tests))
    }

    pub(crate) fn not(self) -> Self {
        match self {
            Test::Not(inner) => *inner,
            test => Test::Not(Box::new(test)),
        }
    }

    pub(crate) fn all(tests: impl IntoIterator<Item = Test>) -> Self {
        let mut all = Vec::new();
        for test in tests {
            match test {
                Test::All(inner) => all.extend(inner),
                test => all.push(test),
            }
        }
        match all.len() {
            1 => all.remove(0),
            _ => Test::All(all),
        }
    }

    pub(crate) fn any(tests: impl IntoIterator<Item = Test>) -> Self {
        let mut any: Vec<Test> = tests.into_iter().collect();
        match any.len() {
            1 => any.remove(0),
            _ => Test::Any(any),
        }
    }

    /// It holds for each event. Every path begins with a slash.
    fn is_always(&self) -> bool {
        match self {
            Test::All(all) => all.iter().all(Test::is_always),
            Test::Any(any) => any.iter().any(Test::is_always),
            Test::Field(name, Is::Begins(text)) => name == "path" && ["", "/"].contains(&&**text),
            _ => false,
        }
    }

    /// Makes it ready to be asked.
    ///
    /// # Errors
    /// When a regular expression can't be read, or the test is too large.
    pub fn compile(&self) -> Result<Filter, String> {
        let mut made = Filter { node: Node::All(Vec::new()), fields: BTreeSet::new(), size: 0 };
        made.node = made.read(self)?;
        Ok(made)
    }
}

/// A [`Test`] that is ready to be asked.
#[derive(Clone, Debug)]
pub struct Filter {
    node: Node,
    fields: BTreeSet<String>,
    size: usize,
}

#[derive(Clone, Debug)]
enum Node {
    All(Vec<Node>),
    Any(Vec<Node>),
    Not(Box<Node>),
    Field(String, Matcher),
}

#[derive(Clone, Debug)]
enum Matcher {
    Is(Is),
    Like(Regex),
}

/// The field that logs lack when they are of one host: without it, an event counts as of the host.
const HOST: &str = "host";

impl Filter {
    fn read(&mut self, test: &Test) -> Result<Node, String> {
        self.size += 1;
        if self.size > MOST {
            return Err(format!("it depends on more than {MOST} conditions"));
        }
        Ok(match test {
            Test::All(all) => {
                Node::All(all.iter().map(|it| self.read(it)).collect::<Result<_, _>>()?)
            }
            Test::Any(any) => {
                Node::Any(any.iter().map(|it| self.read(it)).collect::<Result<_, _>>()?)
            }
            Test::Not(it) => Node::Not(Box::new(self.read(it)?)),
            Test::Field(name, is) => {
                self.fields.insert(name.clone());
                Node::Field(name.clone(), Matcher::new(is)?)
            }
        })
    }

    /// The fields that it looks at.
    pub fn fields(&self) -> impl Iterator<Item = &str> {
        self.fields.iter().map(String::as_str)
    }

    /// Tells whether an event passes. One without a field of the test does not, except without a host: a log without
    /// hosts is of one of them.
    pub fn passes(&self, event: &dyn Fields) -> bool {
        let has = |name: &String| event.value(name).is_some_and(|value| !value.is_empty());
        self.fields.iter().all(|name| name == HOST || has(name))
            && self.node.holds(event).unwrap_or(true)
    }
}

impl Node {
    /// `None` if it depends on a host that is not known.
    fn holds(&self, event: &dyn Fields) -> Option<bool> {
        match self {
            Node::All(all) => Node::join(all, event, false),
            Node::Any(any) => Node::join(any, event, true),
            Node::Not(node) => node.holds(event).map(|holds| !holds),
            Node::Field(name, matcher) => {
                let value = event.value(name).unwrap_or("");
                if name == HOST && value.is_empty() {
                    return None;
                }
                Some(matcher.fits(name, value))
            }
        }
    }

    /// Whether one of them is `decisive`, or all are the opposite.
    fn join(nodes: &[Node], event: &dyn Fields, decisive: bool) -> Option<bool> {
        let mut is_known = true;
        for node in nodes {
            match node.holds(event) {
                Some(holds) if holds == decisive => return Some(decisive),
                Some(_) => {}
                None => is_known = false,
            }
        }
        is_known.then_some(!decisive)
    }
}

impl Matcher {
    fn new(is: &Is) -> Result<Self, String> {
        let Is::Like(text) = is else { return Ok(Matcher::Is(is.clone())) };
        if text.len() > LONGEST {
            return Err(format!("a regular expression of more than {LONGEST} bytes"));
        }
        let read = RegexBuilder::new(text).size_limit(LARGEST).build();
        read.map(Matcher::Like).map_err(|error| {
            let text = said(text);
            format!("the regular expression {text:?} can't be read: {error}")
        })
    }

    fn fits(&self, name: &str, value: &str) -> bool {
        match self {
            Matcher::Like(expression) => expression.is_match(value),
            Matcher::Is(Is::Given | Is::Like(_)) => !value.is_empty(),
            Matcher::Is(Is::Exactly(text)) if [HOST, "method"].contains(&name) => {
                text.eq_ignore_ascii_case(value)
            }
            Matcher::Is(Is::Exactly(text)) => text == value,
            Matcher::Is(Is::Begins(text)) => value.starts_with(text),
            Matcher::Is(Is::Within(network)) => {
                // A group of addresses is written with its bits.
                let (value, _) = value.split_once('/').unwrap_or((value, ""));
                address::parse(value).is_some_and(|address| network.contains(&address))
            }
        }
    }
}

/// An address or a network, as in `192.0.2.0/24`.
pub(crate) fn network(text: &str) -> Option<Is> {
    let (address, bits) = text.split_once('/').map_or((text, None), |(a, b)| (a, Some(b)));
    let one = IpNet::from(address.parse::<IpAddr>().ok()?);
    let bits = bits.map_or(Some(one.max_prefix_len()), |bits| bits.parse().ok())?;
    IpNet::new(one.addr(), bits).ok().map(Is::Within)
}

/// A text as a regular expression for itself.
pub(crate) fn escape(text: &str) -> String {
    regex_lite::escape(text)
}

/// The regular expression of a text with stars, each of which stands for any text.
pub(crate) fn stars(text: &str) -> String {
    let parts: Vec<String> = text.split('*').map(escape).collect();
    format!("^{}$", parts.join(".*"))
}

/// The requests for one of some hosts.
pub(crate) fn hosts<'a>(names: impl IntoIterator<Item = &'a str>) -> Only {
    let test = Test::one_of(HOST, names, |name| Some(host(name)));
    test.map_or_else(|| Only::Unknown(format!("it is for more than {VALUES} hosts")), Only::from)
}

/// A host as servers write it: `example.com`, or with a star as in `*.example.com` and `example.*`.
pub(crate) fn host(name: &str) -> Is {
    if name.contains('*') {
        Is::Like(format!("(?i){}", stars(name)))
    } else {
        Is::Exactly(name.to_owned())
    }
}
