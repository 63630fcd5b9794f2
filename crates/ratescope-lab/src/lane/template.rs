//! The template of a lane: a policy in which limits without a rate have the common rate of all lanes.
//!
//! ```text
//! exim strict
//! token-bucket 10/10s burst 20 per user & fixed-window per ip
//! ```
//!
//! Two [measures](super::model) that fail are written like limiters, too.
//!
//! With `retry` and a [way](Way) at its end, as in `fixed-window retry exponential 1s full`, the clients of this lane try
//! again in that way, whatever the script says.
//!
//! All events of a run come from one address, the `ip`. A limit is for the address unless it says
//! `per user` or `per all`.

use super::model::Model;
use crate::clients::Way;
use core::fmt;
use core::str::FromStr;
use ratescope::event::Fields;
use ratescope::internal::parts;
use ratescope::policy::{Defaults, Policy};
use ratescope::rate::Rate;
use ratescope::text::ParseError;

/// The text of a lane, with one space between words. It is kept as text, not as a policy, since its meaning depends on
/// the common rate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(String);

impl Template {
    /// Reads a template, and its policy if limits without a rate have `rate`.
    ///
    /// # Errors
    /// As for [`Policy::read`]. The error points at the wrong word of `text`.
    pub fn read(text: &str, rate: Rate) -> Result<(Template, Policy), ParseError> {
        let fields = Some(["user", "ip"].map(str::to_owned).into());
        let defaults = Defaults { rate: Some(rate), per: "ip".parse()?, fields, cost: 0.0 };
        let (limits, way) = split(text)?;
        let like = Model::read(limits, rate).map_err(|e| e.inside(text, 0))?;
        let policy = match &like {
            Some((_, like)) => {
                Policy::read(like, &defaults).map_err(|e| ParseError::whole(text, e.problem()))
            }
            None => Policy::read(limits, &defaults).map_err(|e| e.inside(text, 0)),
        }?;
        let tidied =
            |(_, limit): (usize, &str)| limit.split_whitespace().collect::<Vec<_>>().join(" ");
        let tidy = parts(limits, '&').map(tidied).collect::<Vec<_>>().join(" & ");
        let retry = way.map_or(String::new(), |way| format!(" retry {way}"));
        Ok((Template(tidy + &retry), policy))
    }

    /// The measure that decides in place of a limiter, if the text names one.
    pub(crate) fn model(&self, rate: Rate) -> Option<Model> {
        Model::read(split(&self.0).ok()?.0, rate).ok()?.map(|(model, _)| model)
    }

    /// How clients try again in this lane, if it says so.
    pub fn way(&self) -> Option<Way> {
        split(&self.0).ok()?.1
    }

    /// The policy of the template if limits without a rate have `rate`.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    pub fn resolve(&self, rate: Rate) -> Result<Policy, ParseError> {
        Self::read(&self.0, rate).map(|(_, policy)| policy)
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Template {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Reads a template with the common rate of [`Settings::default`](crate::compare::Settings).
impl FromStr for Template {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        Self::read(text, Rate::TEN_IN_TEN_SECONDS).map(|(template, _)| template)
    }
}

/// The limits of a template, and the way after `retry`.
fn split(text: &str) -> Result<(&str, Option<Way>), ParseError> {
    let Some(at) = text.find(" retry ") else { return Ok((text, None)) };
    let (limits, way) = text.split_at(at);
    let from = at + " retry ".len();
    let way = way.get(" retry ".len()..).unwrap_or_default();
    Ok((limits, Some(way.parse().map_err(|e: ParseError| e.inside(text, from))?)))
}

/// The fields of an event of a run: a user, and the address that all users share.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sender<'a>(pub(crate) &'a str);

impl Fields for Sender<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        match name {
            "user" => Some(self.0),
            "ip" => Some("192.0.2.1"),
            _ => None,
        }
    }
}
