//! fail2ban: the enabled jails, which ban addresses by the failures in a log.
//!
//! Source: fail2ban 1.0, `man jail.conf`; [`ratescope::limit::fail2ban`]. A value that neither a jail nor `[DEFAULT]` has is
//! that of fail2ban's own `jail.conf`.

use crate::field::{Field, fields};
use crate::only::{VALUES, network};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{Units, lines, span, whole};
use crate::write::{Names, Notes, Written, each};
use crate::{Addresses, Only, Test};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Limit;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: Names = Names { name: "fail2ban", title: "fail2ban", file: "jail.local" };

const KEYS: [&str; 3] = ["maxretry", "findtime", "bantime"];

/// The values of `jail.conf`.
const BROUGHT: [&str; 3] = ["5", "10m", "10m"];

/// As `MyTime.str2seconds` has them, in small letters.
const UNITS: Units = &[
    ("", 1.0),
    ("s", 1.0),
    ("ss", 1.0),
    ("sec", 1.0),
    ("second", 1.0),
    ("seconds", 1.0),
    ("m", 60.0),
    ("mm", 60.0),
    ("min", 60.0),
    ("minute", 60.0),
    ("minutes", 60.0),
    ("h", 3600.0),
    ("hh", 3600.0),
    ("hour", 3600.0),
    ("hours", 3600.0),
    ("d", 86_400.0),
    ("dd", 86_400.0),
    ("day", 86_400.0),
    ("days", 86_400.0),
    ("w", 604_800.0),
    ("ww", 604_800.0),
    ("week", 604_800.0),
    ("weeks", 604_800.0),
    ("mo", 2_629_800.0),
    ("mon", 2_629_800.0),
    ("month", 2_629_800.0),
    ("months", 2_629_800.0),
    ("y", 31_557_600.0),
    ("yy", 31_557_600.0),
    ("year", 31_557_600.0),
    ("years", 31_557_600.0),
];

/// The longest number or time.
const LONGEST: usize = 100;

/// Stands for a ban without an end; the limiter's longest ban is not much longer.
const FOR_EVER: &str = "5000w";

/// A key, in small letters, and its value.
fn pair(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once(['=', ':'])?;
    let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|comment| value.find(comment)).min();
    Some((key.trim().to_ascii_lowercase(), value[..end.unwrap_or(value.len())].trim()))
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

pub(crate) fn is_known(text: &str) -> bool {
    let lines = || lines(text, &["#", ";"]).map(|(_, line)| line);
    let is_key = |line: &str| pair(line).is_some_and(|(key, _)| KEYS.contains(&key.as_str()));
    lines().any(|line| section(line).is_some()) && lines().any(is_key)
}

/// A section: the values of its keys, each with its line.
struct Section<'a> {
    name: &'a str,
    line: usize,
    values: BTreeMap<String, (String, usize)>,
}

impl Section<'_> {
    fn get(&self, key: &str) -> Option<(&str, usize)> {
        self.values.get(key).map(|(value, line)| (value.as_str(), *line))
    }
}

fn sections(text: &str) -> Result<Vec<Section<'_>>, Remark> {
    let again = |line, what: &str, name: &str| {
        let name = said(name);
        Remark::new(line, format!("the {what} {name} is there already, which fail2ban refuses"))
    };
    let mut all: Vec<Section<'_>> = Vec::new();
    let mut names = BTreeSet::new();
    // The last key, and its indentation: a line that is indented further continues its value.
    let mut last: Option<(String, usize)> = None;
    for (line, written) in (1..).zip(text.lines()) {
        let text = written.trim();
        if text.is_empty() || text.starts_with(['#', ';']) {
            continue;
        }
        let indent = written.len() - written.trim_start().len();
        if let Some(name) = section(text) {
            if !names.insert(name) {
                return Err(again(line, "section", name));
            }
            all.push(Section { name, line, values: BTreeMap::new() });
            last = None;
            continue;
        }
        let Some(Section { values, .. }) = all.last_mut() else { continue };
        if let Some((key, _)) = last.as_ref().filter(|(_, of)| indent > *of) {
            if let Some((value, _)) = values.get_mut(key) {
                value.push(' ');
                value.push_str(text);
            }
        } else if let Some((key, value)) = pair(text) {
            if values.insert(key.clone(), (value.to_owned(), line)).is_some() {
                return Err(again(line, "option", &key));
            }
            last = Some((key, indent));
        }
    }
    Ok(all)
}

/// The networks that are never banned, without the server's own.
fn ignored(value: &str) -> Option<String> {
    let own = ["127.0.0.1/8", "127.0.0.0/8", "127.0.0.1", "::1", "::1/128", "localhost"];
    let networks = value.split([' ', ',', '\t']).filter(|ip| !ip.is_empty() && !own.contains(ip));
    scoped(networks, " ").map(|networks| format!("all but {networks}"))
}

/// The failures of no ignored network. Names of hosts are left to the words of the scope.
fn all_but(ignored: &str) -> Only {
    let mut networks = ignored.split([' ', ',', '\t']).filter_map(network).peekable();
    if networks.peek().is_none() {
        return Only::All;
    }
    let test = Test::one_of("ip", networks, Some).map(Test::not);
    let many = || Only::Unknown(format!("it is for all but more than {VALUES} networks"));
    test.map_or_else(many, Only::from)
}

/// The limit of a jail. `value` finds the value of an option for it, with its line.
fn limit_of<'a>(
    jail: &Section<'_>,
    value: &dyn Fn(&str) -> Option<(&'a str, usize)>,
) -> Result<Limit, Remark> {
    let option = |name: &str, brought: &'static str| {
        let (value, line) = value(name).unwrap_or((brought, jail.line));
        if value.len() > LONGEST {
            let text = format!("{name} is longer than {LONGEST} characters");
            return Err(Remark::new(line, text));
        }
        Ok((value, line))
    };
    let time = |name: &str, brought: &'static str| {
        let (value, line) = option(name, brought)?;
        let value = if name == "bantime" && value == "-1" { FOR_EVER } else { value };
        span(&value.to_ascii_lowercase(), UNITS, name).map_err(|text| Remark::new(line, text))
    };
    let [retry, find, ban] = BROUGHT;
    let (most, line) = option("maxretry", retry)?;
    let most = whole(most, "maxretry").map_err(|text| Remark::new(line, text))?;
    let find = time("findtime", find)?;
    let ban = time("bantime", ban)?;
    limit(&format!("fail2ban {most}/{find} ban {ban}"), &["ip".to_owned()])
        .map_err(|text| Remark::new(jail.line, text))
}

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let (all, jails): (Vec<Section<'_>>, Vec<Section<'_>>) =
        sections(text)?.into_iter().partition(|section| section.name == "DEFAULT");
    let of_all = |name: &str| all.iter().find_map(|all| all.get(name));
    // There may be many jails, and this text may be long.
    let ignored_by_all = of_all("ignoreip").and_then(|(ignored, _)| self::ignored(ignored));
    let ignored_networks = of_all("ignoreip").map_or(Only::All, |(ignored, _)| all_but(ignored));
    for jail in jails.iter().filter(|jail| jail.name != "INCLUDES") {
        let value = |name: &str| jail.get(name).or_else(|| of_all(name));
        let is_on = |name| {
            value(name).is_some_and(|(on, _)| {
                ["true", "yes", "on", "1"].iter().any(|yes| on.eq_ignore_ascii_case(yes))
            })
        };
        if !is_on("enabled") {
            config.remark(jail.line, format!("the jail {} is not enabled here", said(jail.name)));
            continue;
        }
        if let Some((_, line)) = value("ignorecommand").filter(|(command, _)| !command.is_empty()) {
            config.remark(
                line,
                "whom ignorecommand leaves alone is not known; the trial bans them, too",
            );
        }
        if is_on("bantime.increment") {
            config.remark(jail.line, "bantime.increment makes each ban of a sender longer; the trial bans for as long each time");
        }
        match limit_of(jail, &value) {
            Ok(limit) => {
                let scope = match jail.get("ignoreip") {
                    Some((ignored, _)) => self::ignored(ignored),
                    None => ignored_by_all.clone(),
                };
                let name = jail.name.to_owned();
                let addresses = Addresses::default();
                let only = match jail.get("ignoreip") {
                    Some((ignored, _)) => all_but(ignored),
                    None => ignored_networks.clone(),
                };
                let line = jail.line;
                config.found.push(Found { name, line, limit, addresses, scope, only });
            }
            Err(remark) => config.remarks.push(remark),
        }
        if let Some((_, line)) = value("bantime").filter(|(ban, _)| *ban == "-1") {
            config.remark(line, "it bans for ever; the trial bans for 5,000 weeks");
        }
        for (key, brought) in KEYS.into_iter().zip(BROUGHT) {
            if value(key).is_none() {
                config.remark(
                    jail.line,
                    format!("{key} is not given, and {brought} in the jail.conf of fail2ban"),
                );
            }
        }
        // A section of jail.conf overrides DEFAULT of jail.local. The section of sshd has none of these keys.
        let missing: Vec<&str> = KEYS.into_iter().filter(|key| jail.get(key).is_none()).collect();
        if !missing.is_empty() && jail.name != "sshd" {
            config.remark(
                jail.line,
                format!(
                    "the jail has no {}; if the jail.conf of fail2ban has it for {}, that is in force",
                    missing.join(", "),
                    said(jail.name)
                ),
            );
        }
    }
    Ok(())
}

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    if addresses.forwarded {
        let problem = "it bans the address that connects, and would ban the proxy";
        return Err((limits.first().map(ToString::to_string), problem.to_owned()));
    }
    if limits.len() > 1 {
        return Err((None, "a jail has one limit; write one jail for each".to_owned()));
    }
    let jail = each(limits, |_, limit| {
        let AnyLimiter::Fail2ban(own) = &limit.limiter else {
            let problem = "it bans by failures; write a limit such as fail2ban 5/10m";
            return Err(problem.to_owned());
        };
        if fields(&limit.per)?.as_slice() != [Field::Ip] {
            return Err("it bans addresses only; write per ip".to_owned());
        }
        let most = own.limit().count();
        let find = own.limit().per().as_secs_f64();
        let ban = own.ban().as_secs_f64();
        if most >= 3.0 {
            // The quotient, cut to whole seconds, plus one: at the exact quotient the count ends in a half, which may
            // be rounded up, so that nothing fades.
            let gap = libm::floor(find / (2.0 * most - 3.0)) + 1.0;
            notes.add(format!(
                "a sender with a failure every {gap} s is never banned: fail2ban keeps a count, and \
                 rounds what it forgets of it"
            ));
        }
        let (jail, about) = match &limit.name {
            Some(jail) => (jail.as_str(), "The filter of the jail says which lines are failures."),
            None => (
                "sshd",
                "The filter of a jail says which lines are failures: write the one of your log in \
                 place of that of ssh.",
            ),
        };
        Ok(format!(
            "# Lines for /etc/fail2ban/jail.local. {about}\n[{jail}]\nenabled = true\nmaxretry = {most}\nfindtime = {find}\nbantime = {ban}\n"
        ))
    })?;
    addresses.warn_of_ipv4(notes);
    if addresses.ipv6_prefix != 128 {
        notes.add("fail2ban counts and bans each IPv6 address by itself, not networks");
    }
    notes.add(
        "fail2ban bans after the failure that reaches maxretry, which is counted as refused here",
    );
    Ok(jail)
}
