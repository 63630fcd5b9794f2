//! Reads the fields of requests in their normal forms, for gRPC and HTTP alike.

use super::message::RateLimitRequest;
use core::str::FromStr;
use ratescope::ParseError;
use ratescope::address::{IPV6_PREFIX, parse};
use ratescope::event::{Fields, normal};
use ratescope::internal::{Made, shown};
use ratescope::rules::{Rule, Rules, RulesError};
use ratescope_tower::internal::{bytes, not_normal};
use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

/// The most characters of a request that an answer repeats.
pub(super) const ECHO: usize = 60;

/// The kind of a field, whose text form is `path`, `host`, `method`, `ip` or `text`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Form {
    /// The path of a request, in its [normal form](normal).
    Path,
    /// The host of a request.
    Host,
    /// The method of a request.
    Method,
    /// The address of a client: an IPv6 address stands for its /64, or for the IPv4 address in it.
    Ip,
    /// Anything else, which stays as it is.
    Text,
}

impl FromStr for Form {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Ok(match text {
            "path" => Form::Path,
            "host" => Form::Host,
            "method" => Form::Method,
            "ip" => Form::Ip,
            "text" => Form::Text,
            _ => {
                let problem = "not the form of a field; write path, host, method, ip or text";
                return Err(ParseError::whole(text, problem));
            }
        })
    }
}

/// How a service reads the fields of requests.
#[derive(Clone, Debug)]
pub struct Forms {
    /// The forms of fields by their names; a field without one is a text. By default `path`, `host`, `method` and `ip`
    /// have the form of their name, and `remote_address`, which is Envoy's name, is an address.
    pub each: BTreeMap<String, Form>,
    /// Keeps runs of slashes in a path apart, in place of reading them as one.
    pub keep_slashes: bool,
    /// Passes paths that servers [read in different ways](normal::doubt). Otherwise requests with such a path are
    /// refused, if rules are about the path.
    pub pass_doubtful: bool,
    /// Fields whose values are secret, however a request comes: keys show only their
    /// [hashes](ratescope::policy::Per).
    pub secret: BTreeSet<String>,
}

/// The fields of an event that is no descriptor, with those that are secret.
pub(super) struct Named<'a> {
    pub(super) fields: &'a [(Cow<'a, str>, Cow<'a, str>)],
    pub(super) forms: &'a Forms,
}

impl Fields for Named<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        self.fields.value(name)
    }

    fn is_secret(&self, name: &str) -> bool {
        self.forms.secret.contains(name)
    }
}

impl Default for Forms {
    fn default() -> Self {
        let each = [
            ("path", Form::Path),
            ("host", Form::Host),
            ("method", Form::Method),
            ("ip", Form::Ip),
            ("remote_address", Form::Ip),
        ];
        let each = each.map(|(name, form)| (name.to_owned(), form)).into();
        Forms { each, keep_slashes: false, pass_doubtful: false, secret: BTreeSet::new() }
    }
}

impl Forms {
    pub(super) fn of(&self, name: &str) -> Form {
        self.each.get(name).copied().unwrap_or(Form::Text)
    }

    /// The value of a field in its normal form.
    pub(super) fn read<'a>(&self, name: &str, value: &'a str) -> Cow<'a, str> {
        match self.of(name) {
            Form::Text => Cow::Borrowed(value),
            Form::Host => normal::host(value),
            Form::Method => normal::method(value),
            Form::Path => match bytes(value) {
                Cow::Borrowed(path) => normal::path(path, self.keep_slashes),
                Cow::Owned(path) => Cow::Owned(normal::path(&path, self.keep_slashes).into_owned()),
            },
            Form::Ip => {
                let Some(address) = parse(value) else { return Cow::Borrowed(value) };
                let mut made = Made::EMPTY;
                made.write_address(address, IPV6_PREFIX);
                if made.as_str() == value {
                    Cow::Borrowed(value)
                } else {
                    Cow::Owned(made.as_str().to_owned())
                }
            }
        }
    }

    /// The reason why a raw value is doubtful; `None` if doubtful values pass.
    pub(super) fn in_doubt(&self, name: &str, value: &str) -> Option<&'static str> {
        let is_asked = !self.pass_doubtful && self.of(name) == Form::Path;
        is_asked.then(|| normal::doubt(&bytes(value), self.keep_slashes)).flatten()
    }

    /// The doubt as a sentence, if rules that refuse are about the field.
    pub(super) fn doubt(&self, name: &str, value: &str, rules: &Rules) -> Option<String> {
        let what = self.in_doubt(name, value)?;
        let is_limited = rules.fields_of(|rule: &Rule| !rule.is_shadow()).contains(&name);
        is_limited.then(|| {
            format!("{} has {what}, which servers read in different ways", shown(name, ECHO))
        })
    }

    /// The request with its fields in their normal form.
    ///
    /// # Errors
    /// Why the request is refused: a rule is about its doubtful path.
    pub(super) fn request<'a>(
        &self,
        request: &'a RateLimitRequest,
        rules: &Rules,
    ) -> Result<Cow<'a, RateLimitRequest>, String> {
        let mut read = Cow::Borrowed(request);
        for (i, descriptor) in request.descriptors.iter().enumerate() {
            for (j, entry) in descriptor.entries.iter().enumerate() {
                if let Some(why) = self.doubt(&entry.key, &entry.value, rules) {
                    return Err(why);
                }
                let value = self.read(&entry.key, &entry.value);
                if value != entry.value {
                    let value = value.into_owned();
                    let descriptor = read.to_mut().descriptors.get_mut(i);
                    if let Some(entry) = descriptor.and_then(|d| d.entries.get_mut(j)) {
                        entry.value = value;
                    }
                }
            }
        }
        Ok(read)
    }

    /// Checks that requests can have the values of the rules.
    ///
    /// # Errors
    /// When a value is not in the normal form of its field, so that its rule would never apply.
    pub fn check(&self, rules: &Rules) -> Result<(), RulesError> {
        let first = not_normal(rules, |field, value| self.read(field, value)).next();
        first.map_or(Ok(()), |first| {
            let (line, field) = (first.rule.line(), first.field);
            Err(rules.wrong(format!("line {line}: {first}, or run with --form {field}=text")))
        })
    }
}
