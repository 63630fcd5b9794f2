//! The values of a field that a descriptor matches.

use crate::address::Networks;
use crate::policy::{KeySecret, escaped};
use core::fmt;
use std::borrow::Cow;

/// The values of a field that a descriptor matches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub enum Value {
    /// Any value that is not empty: the descriptor has no `value`.
    Any,
    /// This value.
    Is(String),
    /// All values that match this wildcard, as in `/api/*/edit`.
    Like(Wildcard),
    /// All addresses in these networks, and groups of addresses within one of them.
    Within(Networks),
}

/// A text with stars, each of which stands for any characters, or none.
///
/// Source: envoyproxy/ratelimit, `wildcardMatch` in `src/config/config_impl.go`, since 2026 with stars anywhere. As
/// there, no pattern matches a literal star only.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct Wildcard {
    text: String,
    /// The parts between the stars: at least two, and each may be empty.
    parts: Vec<String>,
}

impl Value {
    /// The value `text`, or a wildcard if it contains a star.
    pub(super) fn new(text: &str) -> Self {
        if !text.contains('*') {
            return Value::Is(text.to_owned());
        }
        Value::Like(Wildcard {
            text: text.to_owned(),
            parts: text.split('*').map(str::to_owned).collect(),
        })
    }

    /// True if a field with the text `value` matches.
    pub fn matches(&self, value: &str) -> bool {
        match self {
            Value::Any => !value.is_empty(),
            Value::Is(text) => text == value,
            Value::Like(wildcard) => wildcard.matches(value),
            Value::Within(networks) => networks.has(value),
        }
    }
}

impl Wildcard {
    /// True if `value` matches; an empty value never does.
    ///
    /// The value must begin with the part before the first star and end with the part after the last one. The parts
    /// between are searched in order. The first occurrence of each is the right choice, since it leaves the most for
    /// the parts that follow.
    pub fn matches(&self, value: &str) -> bool {
        let [first, between @ .., last] = self.parts.as_slice() else { return false };
        let inner =
            value.strip_prefix(first.as_str()).and_then(|rest| rest.strip_suffix(last.as_str()));
        let find =
            |rest: &'_ str, part: &String| rest.find(part.as_str()).map(|at| at + part.len());
        let Some(mut rest) = inner.filter(|_| !value.is_empty()) else { return false };
        for part in between {
            let Some(next) = find(rest, part).and_then(|at| rest.get(at..)) else { return false };
            rest = next;
        }
        true
    }

    /// The texts before the first star and after the last one.
    pub(super) fn ends(&self) -> [&str; 2] {
        [self.parts.first(), self.parts.last()].map(|part| part.map_or("", String::as_str))
    }

    /// True for a wildcard that matches everything.
    pub(super) fn is_all(&self) -> bool {
        self.parts.iter().all(String::is_empty)
    }

    /// The text, with its stars.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// One step of the path to a rule: a field, and the values that it must have.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[doc(hidden)]
pub struct Step {
    /// The name of the field.
    pub key: String,
    /// The values that match.
    pub value: Value,
    /// True for a [secret field](crate::policy::Per), whose values are written as hashes.
    pub secret: bool,
}

impl Step {
    /// The bytes of its texts.
    pub(super) fn len(&self) -> usize {
        let value = match &self.value {
            Value::Any => 0,
            Value::Is(text) => text.len(),
            Value::Like(wildcard) => wildcard.as_str().len(),
            Value::Within(networks) => networks.to_string().len(),
        };
        self.key.len() + value
    }

    /// A value of the field as it may be shown. The hash uses no secret, so that the names of rules are the same
    /// everywhere.
    pub fn shown<'a>(&self, value: &'a str) -> Cow<'a, str> {
        if self.secret { Cow::Owned(KeySecret::EMPTY.hashed(value)) } else { Cow::Borrowed(value) }
    }
}

/// As in `to_number`, `message_type=marketing`, `path=/api/*` or `ip in 10.0.0.0/8+fd00::/8`. Values are
/// escaped as in a [key](crate::policy::Per), except for the stars, so a star in a name is always a wildcard. A value
/// of a secret field is a hash, as in `x-api-key=#7f83b1657ff1fc53b92dc18148a1d65d`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        match &self.value {
            Value::Any => Ok(()),
            Value::Is(text) if self.secret => write!(f, "={}", self.shown(text)),
            Value::Is(text) => write!(f, "={}", escaped(text)),
            Value::Like(Wildcard { parts, .. }) => {
                for (i, part) in parts.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "=" } else { "*" }, escaped(part))?;
                }
                Ok(())
            }
            // A comma separates steps.
            Value::Within(networks) => {
                write!(f, " in {}", networks.to_string().replace(", ", "+"))
            }
        }
    }
}
