//! Rules before a limit that decide about some requests, which then do not reach the limit.

use crate::read::{Config, Found, said, scoped};

/// The rules of a list so far. The first whose conditions hold decides.
#[derive(Clone, Default)]
pub(crate) struct Earlier {
    some: Vec<String>,
    /// How many more there are.
    more: usize,
    /// The line of a rule that decides about all requests.
    all: Option<usize>,
}

impl Earlier {
    /// Adds a rule that decides about some or all requests.
    pub(crate) fn add(&mut self, line: usize, rule: &str, is_for_all: bool) {
        const SAID: usize = 5;
        if is_for_all {
            self.all = self.all.or(Some(line));
        } else if self.some.len() < SAID {
            self.some.push(format!("line {line}, {}", said(rule)));
        } else {
            self.more += 1;
        }
    }

    /// Adds a remark on the requests that do not reach a limit after these rules. Returns whether any do.
    pub(crate) fn reach(&self, line: usize, config: &mut Config) -> bool {
        if let Some(all) = self.all {
            config.remark(line, format!("nothing comes to it, as line {all} decides about all"));
        } else if let Some(some) = scoped(&self.some, "; ") {
            let more =
                if self.more > 0 { format!("; and {} more", self.more) } else { String::new() };
            config.remark(
                line,
                format!(
                    "rules before it keep some away, and the trial counts those, too: {some}{more}"
                ),
            );
        }
        self.all.is_none()
    }

    /// Adds a limit that comes after these rules, or a remark that says why it can't be read.
    pub(crate) fn add_limit(&self, line: usize, found: Result<Found, String>, config: &mut Config) {
        if found.is_err() || self.reach(line, config) {
            config.add(line, found);
        }
    }
}
