//! fail2ban: the jails that are enabled.
//!
//! Source: as for [`ratescope::limit::fail2ban`]. What neither a jail nor `[DEFAULT]` says is as in the `jail.conf` that
//! fail2ban brings.

use super::words::{Units, lines, span, whole};
use super::{Config, Found, Remark, limit, said};

const KEYS: [&str; 3] = ["maxretry", "findtime", "bantime"];

/// What `jail.conf` has.
const BROUGHT: [&str; 3] = ["5", "10m", "10m"];

const UNITS: Units = &[
    ("", 1.0),
    ("s", 1.0),
    ("sec", 1.0),
    ("m", 60.0),
    ("min", 60.0),
    ("h", 3600.0),
    ("hour", 3600.0),
    ("hours", 3600.0),
    ("d", 86_400.0),
    ("day", 86_400.0),
    ("days", 86_400.0),
    ("w", 604_800.0),
    ("week", 604_800.0),
    ("weeks", 604_800.0),
];

/// A key, in small letters, and its value.
fn pair(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once(['=', ':'])?;
    let end = [" #", " ;", "\t#", "\t;"].iter().filter_map(|comment| value.find(comment)).min();
    Some((key.trim().to_ascii_lowercase(), value[..end.unwrap_or(value.len())].trim()))
}

fn section(line: &str) -> Option<&str> {
    line.strip_prefix('[')?.strip_suffix(']')
}

pub(super) fn is_known(text: &str) -> bool {
    let lines = || lines(text, &["#", ";"]).map(|(_, line)| line);
    let is_key = |line: &str| pair(line).is_some_and(|(key, _)| KEYS.contains(&key.as_str()));
    lines().any(|line| section(line).is_some()) && lines().any(is_key)
}

/// A jail: its name and its values, each with its line.
struct Jail<'a> {
    name: &'a str,
    line: usize,
    values: Vec<(String, &'a str, usize)>,
}

impl<'a> Jail<'a> {
    /// The last value of a key, as fail2ban takes it.
    fn get(&self, name: &str) -> Option<(&'a str, usize)> {
        let is = |(key, _, _): &&(String, &str, usize)| key == name;
        self.values.iter().rev().find(is).map(|(_, value, line)| (*value, *line))
    }
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let mut jails: Vec<Jail<'_>> = Vec::new();
    for (line, text) in lines(text, &["#", ";"]) {
        if let Some(name) = section(text) {
            jails.push(Jail { name, line, values: Vec::new() });
        } else if let (Some((key, value)), Some(jail)) = (pair(text), jails.last_mut()) {
            jail.values.push((key, value, line));
        }
    }
    // Sections of one name are one section.
    let (all, jails): (Vec<Jail<'_>>, Vec<Jail<'_>>) =
        jails.into_iter().partition(|jail| jail.name == "DEFAULT");
    let of_all = |name: &str| all.iter().rev().find_map(|jail| jail.get(name));
    for jail in jails.iter().filter(|jail| jail.name != "INCLUDES") {
        let value = |name: &str| jail.get(name).or_else(|| of_all(name));
        let is_on = |name| {
            value(name).is_some_and(|(on, _)| {
                ["true", "yes", "on", "1"].contains(&on.to_lowercase().as_str())
            })
        };
        if !is_on("enabled") {
            config.remark(jail.line, format!("the jail {} is not enabled here", said(jail.name)));
            continue;
        }
        if is_on("bantime.increment") {
            config.remark(jail.line, "bantime.increment makes each ban of a sender longer; what is tried bans for as long each time");
        }
        let mut line = jail.line;
        let mut read = || -> Result<Found, String> {
            let mut given = |name: &str, brought| {
                let (value, at) = value(name).unwrap_or((brought, jail.line));
                line = at;
                value
            };
            let [retry, find, ban] = BROUGHT;
            let most = whole(given("maxretry", retry), "maxretry")?;
            let find = span(given("findtime", find), UNITS, "findtime")?;
            let ban = span(given("bantime", ban), UNITS, "bantime")?;
            line = jail.line;
            let limit = limit(&format!("fail2ban {most}/{find} ban {ban}"), &["ip".to_owned()])?;
            Ok(Found { name: jail.name.to_owned(), line, limit, scope: None })
        };
        let found = read();
        config.add(line, found);
        for (key, brought) in KEYS.into_iter().zip(BROUGHT) {
            if value(key).is_none() {
                config.remark(
                    jail.line,
                    format!("{key} is not given, and {brought} in the jail.conf of fail2ban"),
                );
            }
        }
        // A section of jail.conf comes before DEFAULT of jail.local. That of sshd has none of these.
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
