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
//! With `share` and how several [processes](super::processes) share the limit, as in `gcra 10/1s share leased 1s`, these
//! decide.
//!
//! All events of a run come from one address, the `ip`. A limit is for the address unless it says
//! `per user` or `per all`.

use super::model::Model;
use super::processes::Sharing;
use crate::clients::Way;
use core::fmt;
use core::str::FromStr;
use ratescope::event::Fields;
use ratescope::internal::parts;
use ratescope::policy::{Defaults, Limit, Policy};
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
        let Parts { limits, sharing, way } = split(text)?;
        let like = Model::read(limits, rate).map_err(|e| e.inside(text, 0))?;
        let policy = match &like {
            Some((_, like)) => {
                Policy::read(like, &defaults).map_err(|e| ParseError::whole(text, e.problem()))
            }
            None => Policy::read(limits, &defaults).map_err(|e| e.inside(text, 0)),
        }?;
        if let Some(sharing) = sharing {
            let problem = match &like {
                Some(_) => Some(ALONE.to_owned()),
                None => shared_limit(&policy, sharing).err(),
            };
            if let Some(problem) = problem {
                return Err(ParseError::whole(text, problem));
            }
        }
        let tidied =
            |(_, limit): (usize, &str)| limit.split_whitespace().collect::<Vec<_>>().join(" ");
        let tidy = parts(limits, '&').map(tidied).collect::<Vec<_>>().join(" & ");
        let share = sharing.map_or(String::new(), |sharing| format!(" share {sharing}"));
        let retry = way.map_or(String::new(), |way| format!(" retry {way}"));
        Ok((Template(tidy + &share + &retry), policy))
    }

    /// The measure that decides in place of a limiter, if the text names one.
    pub(crate) fn model(&self, rate: Rate) -> Option<Model> {
        Model::read(split(&self.0).ok()?.limits, rate).ok()?.map(|(model, _)| model)
    }

    /// How several processes share its limit, if it says so.
    pub fn sharing(&self) -> Option<Sharing> {
        split(&self.0).ok()?.sharing
    }

    /// How clients try again in this lane, if it says so.
    pub fn way(&self) -> Option<Way> {
        split(&self.0).ok()?.way
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

const ALONE: &str = "one limiter alone can be shared by several processes";

/// The limit that several processes share in this way.
///
/// # Errors
/// Why they can't.
pub fn shared_limit(policy: &Policy, sharing: Sharing) -> Result<&Limit, String> {
    let [limit] = policy.limits() else { return Err(ALONE.to_owned()) };
    match sharing.problem(&limit.limiter) {
        Some(problem) => Err(problem),
        None => Ok(limit),
    }
}

/// The parts of a template.
#[derive(Clone, Copy, Debug)]
pub struct Parts<'a> {
    /// The limits.
    pub limits: &'a str,
    /// How several processes share them.
    pub sharing: Option<Sharing>,
    /// How clients try again.
    pub way: Option<Way>,
}

/// The limits of a template, and the parts after `share` and `retry`, in any order.
///
/// # Errors
/// When one of these can't be read.
pub fn split(text: &str) -> Result<Parts<'_>, ParseError> {
    let words = [" share ", " retry "];
    let next = |text: &str| words.iter().filter_map(|word| text.find(word)).min();
    let (limits, mut rest) = text.split_at(next(text).unwrap_or(text.len()));
    let mut parts = Parts { limits, sharing: None, way: None };
    while !rest.is_empty() {
        // The two words are of one length.
        let (word, after) = rest.split_at(" share ".len());
        let (value, others) = after.split_at(next(after).unwrap_or(after.len()));
        let from = text.len() - after.len();
        let inside = |e: ParseError| e.inside(text, from);
        match word {
            " share " => parts.sharing = Some(value.parse().map_err(inside)?),
            _ => parts.way = Some(value.parse().map_err(inside)?),
        }
        rest = others;
    }
    Ok(parts)
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
