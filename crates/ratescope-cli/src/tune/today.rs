//! The limits in force, from a server's configuration.

use super::files::Tried;
use super::{Args, For, Tuned, named};
use crate::{bounded, terminal};
use ratescope::internal::grouped;
use ratescope::time::Span;
use ratescope_config::{Config, Found, LONGEST, Only, Target, read_named};
use ratescope_lab::tune::{Imported, LimitEffect, Measure, is_looser, percent};
use ratescope_log::IPV6_PREFIX;
use std::error::Error;

/// The most limits that are tried at once.
const MOST: usize = 32;

/// The most notes that are printed.
const NOTES: usize = 50;

/// The limits of a configuration that are tried on the log.
pub(crate) struct Today {
    file: String,
    pub(crate) config: Config,
}

impl Today {
    /// Reads the configuration of the arguments, if there is one.
    pub(super) fn read(args: &Args) -> Result<Option<Self>, Box<dyn Error>> {
        let Some(path) = &args.config else { return Ok(None) };
        let text = bounded::text(path, LONGEST).map_err(|error| named(path, &error))?;
        let config = read_named(&text, &args.zones).map_err(|error| named(path, &error))?;
        let file = terminal::name(path);
        let n = config.found.len();
        if n > MOST {
            return Err(format!(
                "{file}: {n} limits, and at most {MOST} are tried; name some with --zone"
            )
            .into());
        }
        for remark in config.remarks.iter().take(NOTES) {
            terminal::say(&format!("note: {file}: {remark}"));
        }
        if let Some(more) = config.remarks.len().checked_sub(NOTES).filter(|more| *more > 0) {
            terminal::say(&format!("note: {file}: and {more} more, which --json has"));
        }
        Ok(Some(Today { file, config }))
    }

    pub(super) fn target(&self) -> Target {
        self.config.target
    }

    /// The period of the first limit that has one.
    pub(super) fn period(&self) -> Option<Span> {
        let mut limiters = self.config.found.iter().map(|found| &found.limit.limiter);
        limiters.find_map(Measure::from_limiter).map(|(measure, _)| measure.period())
    }

    /// The IPv6 prefix of the first limit that counts by addresses.
    pub(super) fn ipv6_prefix(&self) -> u8 {
        let mut found = self.config.found.iter().filter(|found| found.is_by_address());
        found.next().map_or(IPV6_PREFIX, |found| found.addresses.ipv6_prefix)
    }

    /// The limits, each with its effect on the log.
    pub(super) fn tried<'a>(
        &'a self,
        answer: &'a Tuned<'_>,
    ) -> impl Iterator<Item = (&'a Found, &'a Tried)> {
        self.config.found.iter().zip(answer.tried)
    }

    /// The effect of the limits, and of the recommended limit instead, a sentence or two each.
    pub(super) fn says(&self, answer: &Tuned<'_>) -> Vec<String> {
        let log = answer.analysis.imported();
        let events = log.events();
        let clients = answer.analysis.clients();
        let all = clients.requests();
        let mut says: Vec<String> = self
            .tried(answer)
            .map(|(found, tried)| {
                let Found { name, line, scope, .. } = found;
                let name = if name.is_empty() { String::new() } else { format!("{name}, ") };
                if let Some(problem) = &tried.problem {
                    let file = &self.file;
                    return format!(
                        "Today's {} ({name}{file}, line {line}) can't be tried on this log: {problem}.",
                        tried.text
                    );
                }
                let scope = scope.as_ref().map_or(String::new(), |scope| match found.only {
                    Only::Fields(_) => {
                        let own = grouped(tried.events);
                        format!(" It is for {scope}: {own} of {} {events}.", grouped(all))
                    }
                    _ => format!(" It is for {scope}, and was tried on all {events} that were read."),
                });
                format!(
                    "Today, {} ({name}{}, line {line}) refuses {} of {} {events} ({}), of {} of {} clients.{scope}{}",
                    tried.text,
                    self.file,
                    grouped(tried.refused),
                    grouped(tried.events),
                    percent(tried.refused as f64 / tried.events.max(1) as f64),
                    grouped(tried.touched),
                    grouped(clients.clients()),
                    self.says_of_addresses(found, tried, log),
                )
            })
            .collect();
        says.push(match self.recommended(answer) {
            Some(effect) => {
                // A limit for a part of the events was tried on all of them.
                let whole = self
                    .tried(answer)
                    .filter(|(found, tried)| found.scope.is_none() && tried.problem.is_none());
                let most = whole.map(|(_, tried)| tried.refused).max().unwrap_or(0);
                format!(
                    "The recommended {} per {} would refuse {} instead, of {} clients.{}",
                    effect.limit,
                    log.summary.per,
                    grouped(effect.refused),
                    grouped(effect.touched),
                    is_looser(effect.refused, most, events).unwrap_or_default(),
                )
            }
            None => "None of the limits of the server leaves enough clients alone.".to_owned(),
        });
        says
    }

    /// How IPv6 addresses are counted, if the limit groups them in another way than the clients of the log.
    fn says_of_addresses(&self, found: &Found, tried: &Tried, log: &Imported) -> String {
        let server = self.target().title();
        let bits = found.addresses.ipv4_prefix;
        let ipv4 = if found.is_by_address() && bits < 32 {
            format!(
                " {server} counts IPv4 addresses by their first {bits} bits, and so it was tried."
            )
        } else {
            String::new()
        };
        let bits = found.addresses.ipv6_prefix;
        let Some(of) = log.ipv6_prefix().filter(|of| found.is_by_address() && *of != bits) else {
            return ipv4;
        };
        let here = match tried.prefixes.filter(|(_, ipv6)| *ipv6 == bits) {
            Some(_) => format!("so it was tried; the clients above are counted by {of} bits"),
            None => format!("here {of} bits were taken"),
        };
        format!("{ipv4} {server} counts IPv6 addresses by their first {bits} bits, and {here}.")
    }

    /// The limit that is recommended for the same server, or else for any.
    pub(super) fn recommended<'a>(&self, answer: &'a Tuned<'_>) -> Option<&'a LimitEffect> {
        let same = answer.servers.iter().find(|server| server.target == For::Server(self.target()));
        same.map_or(answer.effect.as_ref(), |server| server.effect.as_ref())
    }
}
