//! The limits of the statements of ACLs.

use super::text::{definition, expanded, joined, value, verb};
use crate::earlier::Earlier;
use crate::field::{ip, unknown};
use crate::only::{VALUES, network};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{Units, bits, decimal, span};
use crate::{Addresses, Is, Only, Test};
use std::collections::BTreeMap;

const UNITS: Units =
    &[("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0), ("w", 604_800.0), ("", 1.0)];

const MODES: [&str; 4] = ["strict", "leaky", "readonly", "noupdate"];

/// The modifiers of a statement, which are not conditions.
const MODIFIERS: [&str; 14] = [
    "add_header",
    "continue",
    "control",
    "delay",
    "endpass",
    "log_message",
    "log_reject_target",
    "logwrite",
    "message",
    "queue",
    "remove_header",
    "set",
    "udpsend",
    "ratelimit",
];

/// The other options of the main section that refuse or delay.
const BESIDE: [&str; 5] = [
    "smtp_ratelimit_mail",
    "smtp_ratelimit_rcpt",
    "smtp_accept_max_per_host",
    "smtp_accept_max_per_connection",
    "recipients_max",
];

/// A statement of an ACL: its verb, its conditions and its limits.
#[derive(Default)]
struct Statement {
    line: usize,
    verb: String,
    conditions: Vec<String>,
    limits: Vec<Ratelimit>,
}

/// A limit of a statement: its line, its value, and the number of conditions before it.
struct Ratelimit {
    line: usize,
    value: String,
    before: usize,
}

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let mut statement = Statement::default();
    let mut earlier = Earlier::default();
    // How many blocks such as .ifdef are open.
    let mut conditional = 0usize;
    let mut macros: BTreeMap<String, String> = BTreeMap::new();
    for (line, text) in joined(text) {
        if let Some((name, text)) = definition(&text) {
            macros.insert(name.to_owned(), expanded(text, &macros));
            continue;
        }
        let text = if macros.is_empty() { text } else { expanded(&text, &macros) };
        let mut rest = text.as_str();
        if let Some(name) = BESIDE.iter().find(|name| {
            rest.strip_prefix(**name).is_some_and(|rest| rest.trim_start().starts_with('='))
        }) {
            config.beside(line, name);
        }
        if let Some((word, after)) = verb(rest) {
            std::mem::take(&mut statement).read(&mut earlier, config);
            statement.line = line;
            statement.verb = word.to_owned();
            if conditional > 0 {
                statement.conditions.push("within .ifdef".to_owned());
            }
            rest = after;
        }
        let name = rest.split(['=', ' ', '\t']).next().unwrap_or("").trim_start_matches('!');
        if name.starts_with(".if") {
            conditional += 1;
        } else if name == ".endif" {
            conditional = conditional.saturating_sub(1);
        } else if rest.strip_prefix('!').is_some_and(|rest| value(rest).is_some()) {
            config.remark(line, "it asks for events below its limit, which is not understood");
        } else if let Some(value) = value(rest) {
            let before = statement.conditions.len();
            statement.limits.push(Ratelimit { line, value: value.to_owned(), before });
        } else if name.ends_with(':') && !rest.contains('=') {
            // Another ACL begins.
            std::mem::take(&mut statement).read(&mut earlier, config);
            earlier = Earlier::default();
        } else if !MODIFIERS.contains(&name) && rest.contains('=') {
            statement.conditions.push(rest.split_whitespace().collect::<Vec<_>>().join(" "));
        }
    }
    statement.read(&mut earlier, config);
    Ok(())
}

impl Statement {
    pub(super) fn read(self, earlier: &mut Earlier, config: &mut Config) {
        for Ratelimit { line, value, before } in &self.limits {
            let line = *line;
            match self.verb.as_str() {
                "accept" => config.remark(line, "accept lets events above its limit pass"),
                "require" => config.remark(line, "require refuses events below its limit"),
                verb if is_zero(value) => config.remark(
                    line,
                    match verb {
                        "warn" => "a limit of 0 only measures under warn".to_owned(),
                        verb => format!(
                            "a limit of 0 is always reached, so {verb} refuses all that come to it"
                        ),
                    },
                ),
                verb => {
                    let (before, after) = self.conditions.split_at(*before);
                    let found = limit_of(line, value, before, config);
                    earlier.add_limit(line, found, config);
                    if verb == "warn" {
                        config.remark(line, "warn refuses nothing; the trial refuses");
                    }
                    if let Some(after) = scoped(after, ", ") {
                        config.remark(
                            line,
                            format!(
                                "after it comes {}, so it counts all events and refuses only those; the trial refuses all",
                                said(&after)
                            ),
                        );
                    }
                    if self.limits.len() > 1 {
                        config.remark(
                            line,
                            format!(
                                "the {verb} of line {} has several limits and refuses events that are above all of them; the trial refuses by each",
                                self.line
                            ),
                        );
                    }
                }
            }
        }
        self.decide(earlier);
    }

    /// Adds to `earlier` which mails this statement decides about, apart from mails that a limit refuses.
    fn decide(&self, earlier: &mut Earlier) {
        let Statement { line, verb, conditions, limits } = self;
        let is_for_all = conditions.is_empty() && limits.iter().all(|it| is_zero(&it.value));
        match verb.as_str() {
            "" | "warn" => return,
            "require" if is_for_all => return,
            "defer" | "deny" | "discard" | "drop" if !limits.is_empty() && !is_for_all => return,
            _ => {}
        }
        let limits = limits.iter().map(|limit| format!("ratelimit = {}", limit.value));
        let tests = scoped(conditions.iter().cloned().chain(limits), ", ");
        earlier.add(*line, &format!("{verb} {}", tests.unwrap_or_default()), is_for_all);
    }
}

/// A limit that comes after these conditions.
fn limit_of(
    line: usize,
    value: &str,
    conditions: &[String],
    config: &mut Config,
) -> Result<Found, String> {
    let parts = parts(value);
    let [count, period, options @ ..] = parts.as_slice() else {
        return Err("its period is missing".to_owned());
    };
    let count = number(count)?;
    let period = span(period, UNITS, "its period")?;
    let mut mode = None;
    let mut key = Vec::new();
    for part in options {
        // Exim reads options in any case.
        let option = part.to_ascii_lowercase();
        match option.as_str() {
            "strict" | "leaky" | "readonly" | "noupdate" => {
                let read = MODES.into_iter().find(|known| *known == option);
                let contradicts = |known| known != "noupdate" && option != "noupdate";
                if mode.is_some_and(|known| Some(known) != read && contradicts(known)) {
                    return Err("its modes contradict each other, which Exim refuses".to_owned());
                }
                mode = read;
            }
            "per_mail" | "per_cmd" => {}
            "per_conn" => config
                .remark(line, "it counts connections; the trial counts every event of the log"),
            "per_rcpt" => {
                config.remark(line, "it counts recipients: --cost recipients counts them in a log")
            }
            "per_byte" => config.remark(line, "it counts bytes: --cost bytes counts them in a log"),
            "per_addr" => config.remark(
                line,
                "it counts different recipients; the trial counts every event of the log",
            ),
            option if option.starts_with("unique=") => config.remark(
                line,
                "it counts each value of unique= once; the trial counts every event of the log",
            ),
            option if option.starts_with("count=") => config.remark(
                line,
                "each event counts as many as count= says; the trial counts each as one",
            ),
            option if option.starts_with("per_") => {
                return Err(format!("{} is not understood", said(part)));
            }
            _ => key.push(*part),
        }
    }
    let mode = match mode.unwrap_or("leaky") {
        "noupdate" => "readonly",
        mode => mode,
    };
    if mode == "readonly" {
        config.remark(
            line,
            "it only reads a rate that is measured elsewhere, and refuses nothing alone",
        );
    }
    let mut addresses = Addresses::default();
    let (fields, name) = fields(&key, &mut addresses)?;
    let condition = |condition: &&String| {
        let has = |field: &str| fields.iter().any(|known| known == field);
        !((condition.as_str() == "authenticated = *" && has("user"))
            || (condition.as_str() == "!senders = :" && has("sender")))
    };
    let mut only = Only::All;
    for condition in conditions.iter().filter(condition) {
        // A statement may have many conditions and many limits.
        if matches!(only, Only::Unknown(_)) {
            break;
        }
        only.and(self::only(condition));
    }
    let scope = scoped(conditions.iter().filter(condition), ", ");
    let limit = limit(&format!("exim {count}/{period} {mode}"), &fields)?;
    Ok(Found { name, line, limit, addresses, scope, only })
}

/// A limit of 0, which every rate reaches.
fn is_zero(value: &str) -> bool {
    parts(value).first().is_some_and(|limit| number(limit) == Ok(0.0))
}

/// The mails for which a condition holds. One that leaves out some, and is no test of a field, is left to the words of
/// the scope.
pub(super) fn only(condition: &str) -> Only {
    let (name, list) =
        condition.split_once('=').map_or((condition, ""), |(a, b)| (a.trim(), b.trim()));
    let (is_not, name) = name.strip_prefix('!').map_or((false, name), |name| (true, name.trim()));
    let test = match (name, list) {
        ("authenticated", "*") => Some(Test::field("user", Is::Given)),
        ("senders", ":") => Some(Test::field("sender", Is::Given).not()),
        ("hosts", list) => hosts(list),
        _ => None,
    };
    match test {
        Some(test) if is_not => test.not().into(),
        None if is_not || list.starts_with('!') || name == "within .ifdef" => Only::All,
        test => Only::of(test, condition),
    }
}

/// A list of addresses and networks, in which a colon of IPv6 is doubled. The first that matches decides.
fn hosts(list: &str) -> Option<Test> {
    let list = list.replace("::", "\n");
    let entries = list.split(':').map(|entry| entry.trim().replace('\n', ":"));
    let mut test = None;
    let entries: Vec<String> = entries.filter(|entry| !entry.is_empty()).collect();
    if entries.len() > VALUES {
        return None;
    }
    for entry in entries.iter().rev() {
        let (is_not, entry) =
            entry.strip_prefix('!').map_or((false, entry.as_str()), |entry| (true, entry.trim()));
        let here = Test::field("ip", network(entry)?);
        // After a last entry that says no, an address that matches nothing is in the list.
        test = Some(match (test, is_not) {
            (None, true) => here.not(),
            (None, false) => here,
            (Some(rest), true) => Test::all([here.not(), rest]),
            (Some(rest), false) => Test::any([here, rest]),
        });
    }
    test
}

/// The parts between slashes, except slashes within an expansion.
fn parts(value: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut depth = 0usize;
    let mut begin = 0;
    for (at, c) in value.char_indices() {
        match c {
            '{' => depth += 1,
            '}' => depth = depth.saturating_sub(1),
            '/' if depth == 0 => {
                parts.push(value[begin..at].trim());
                begin = at + 1;
            }
            _ => {}
        }
    }
    parts.push(value[begin..].trim());
    parts
}

/// A number with K, M or G, which are powers of 1024.
fn number(text: &str) -> Result<f64, String> {
    let factors = [("K", 1024.0), ("M", 1_048_576.0), ("G", 1_073_741_824.0)];
    let text = text.to_ascii_uppercase();
    let factor =
        factors.into_iter().find_map(|(suffix, factor)| Some((text.strip_suffix(suffix)?, factor)));
    let (digits, factor) = factor.unwrap_or((text.as_str(), 1.0));
    Ok(decimal(digits, "its limit")? * factor)
}

/// The fields of a key, and its constant text.
pub(super) fn fields(
    key: &[&str],
    addresses: &mut Addresses,
) -> Result<(Vec<String>, String), String> {
    if key.is_empty() {
        return Ok((vec![ip()], String::new()));
    }
    let mut fields = Vec::new();
    let mut names = Vec::new();
    for part in key {
        if part.contains('$') {
            fields.push(field(part, addresses)?);
        } else {
            names.push(*part);
        }
    }
    Ok((fields, names.join(" / ")))
}

fn field(part: &str, addresses: &mut Addresses) -> Result<String, String> {
    let network =
        part.strip_prefix("${if isip6{$sender_host_address}{${mask:$sender_host_address/");
    if let Some(rest) = network
        && let Some(prefix) = rest.strip_suffix("}}{$sender_host_address}}")
        && let Some(prefix) = bits(prefix)
    {
        addresses.ipv6_prefix = prefix;
        return Ok(ip());
    }
    let digest = ["md5", "sha1", "sha256", "lc"].iter().find_map(|name| {
        part.strip_prefix("${")?.strip_prefix(name)?.strip_prefix(':')?.strip_suffix('}')
    });
    let variable = digest.unwrap_or(part);
    let name = variable.strip_prefix("${").and_then(|name| name.strip_suffix('}'));
    Ok(match name.or_else(|| variable.strip_prefix('$')).unwrap_or(variable) {
        "sender_host_address" => ip(),
        "authenticated_id" => "user".to_owned(),
        "sender_address" => "sender".to_owned(),
        "sender_host_name" => "host".to_owned(),
        "sender_helo_name" => "helo".to_owned(),
        _ => return Err(unknown(part)),
    })
}
