//! What a descriptor says about the value of its field.

use crate::policy::escaped;
use core::fmt;

/// Which values of a field a descriptor is about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Value {
    /// Any that is not empty. It is written by leaving `value` out.
    Any,
    /// This one.
    Is(String),
    /// All that are like this, as in `/api/*/edit`.
    Like(Wildcard),
}

/// A text with stars, each of which stands for any characters, or none.
///
/// Source: envoyproxy/ratelimit, `wildcardMatch` in `src/config/config_impl.go`, since 2026 for
/// stars anywhere. A star itself can't be asked for, there and here.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Wildcard {
    text: String,
    /// What stands between the stars: at least two parts, of which any may be empty.
    parts: Vec<String>,
}

impl Value {
    /// The value that `text` asks for; with a star in it, all that are like it.
    pub(super) fn new(text: &str) -> Self {
        match text.contains('*') {
            true => Value::Like(Wildcard {
                text: text.to_owned(),
                parts: text.split('*').map(str::to_owned).collect(),
            }),
            false => Value::Is(text.to_owned()),
        }
    }

    /// Whether a field with the text `value` is meant.
    pub fn matches(&self, value: &str) -> bool {
        match self {
            Value::Any => !value.is_empty(),
            Value::Is(text) => text == value,
            Value::Like(wildcard) => wildcard.matches(value),
        }
    }
}

impl Wildcard {
    /// Whether `value`, which is not empty, is like this.
    ///
    /// The part before the first star begins it, and the part after the last one ends it; each other
    /// part is looked for in what is left, and the first place is as good as any, since that leaves
    /// most for the parts that follow.
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

    /// Whether whatever is like `other` is also like this.
    ///
    /// A star of `other` is a character that no part of this contains, and so one that only a star
    /// of this can stand for: what holds for it holds for any characters in its place.
    pub(super) fn covers(&self, other: &Wildcard) -> bool {
        self.matches(&other.text)
    }

    /// Whether everything is like this.
    pub(super) fn is_all(&self) -> bool {
        self.parts.iter().all(String::is_empty)
    }

    /// The text, with its stars.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// One step of the way to a rule: a field, and which of its values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Step {
    /// The name of the field.
    pub key: String,
    /// Its values.
    pub value: Value,
}

impl Step {
    /// How many bytes its texts have.
    pub(super) fn len(&self) -> usize {
        let value = match &self.value {
            Value::Any => "",
            Value::Is(text) => text,
            Value::Like(wildcard) => wildcard.as_str(),
        };
        self.key.len() + value.len()
    }
}

/// As in `to_number`, `message_type=marketing` or `path=/api/*`: escaped as in a
/// [key](crate::policy::Per), but for the stars, so that a star in a name is always one.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.key)?;
        match &self.value {
            Value::Any => Ok(()),
            Value::Is(text) => write!(f, "={}", escaped(text)),
            Value::Like(Wildcard { parts, .. }) => {
                for (i, part) in parts.iter().enumerate() {
                    write!(f, "{}{}", if i == 0 { "=" } else { "*" }, escaped(part))?;
                }
                Ok(())
            }
        }
    }
}
