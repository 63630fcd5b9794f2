//! Exim: the conditions `ratelimit` of an ACL.
//!
//! Source: Exim specification, chapter "Access control lists", section "Rate limiting incoming messages", and
//! `acl_ratelimit` in its source. Exim splits the condition at `/` after expansion, and reads a part that is the name of an
//! option as that option. So a text that a sender chooses goes into the key as a digest.

use crate::earlier::Earlier;
use crate::field::{ip, unknown};
use crate::only::{VALUES, network};
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{Units, bits, decimal, lines, span};
use crate::write::{Names, Notes, Written, each};
use crate::{Addresses, Is, Only, Test};
use ratescope::limit::any::AnyLimiter;
use ratescope::policy::{Limit, Per};
use std::collections::BTreeMap;

pub(crate) const NAMES: Names = Names { name: "exim", title: "Exim", file: "exim4.conf" };

const UNITS: Units =
    &[("s", 1.0), ("m", 60.0), ("h", 3600.0), ("d", 86_400.0), ("w", 604_800.0), ("", 1.0)];

/// The verbs of an ACL.
const VERBS: [&str; 7] = ["accept", "defer", "deny", "discard", "drop", "require", "warn"];

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

/// The value of `ratelimit = ...` in a line.
fn value(line: &str) -> Option<&str> {
    let line = verb(line).map_or(line, |(_, rest)| rest);
    let value = line.strip_prefix("ratelimit")?.trim_start().strip_prefix('=')?;
    Some(value.trim())
}

/// A verb at the beginning of a line, and the rest of it.
fn verb(line: &str) -> Option<(&str, &str)> {
    let end = line.find(char::is_whitespace).unwrap_or(line.len());
    let (word, rest) = line.split_at(end);
    VERBS.contains(&word).then(|| (word, rest.trim_start()))
}

pub(crate) fn is_known(text: &str) -> bool {
    let values = || lines(text, &["#"]).filter_map(|(_, line)| value(line));
    values().any(|value| value.contains('/'))
        || (values().next().is_some()
            && lines(text, &["#"]).any(|(_, line)| definition(line).is_some()))
}

/// A macro, as in `RATE = 100 / 1h`: its name, and its text.
fn definition(line: &str) -> Option<(&str, &str)> {
    let (name, text) = line.split_once('=')?;
    let name = name.trim_end();
    let is_name = name.starts_with(|c: char| c.is_ascii_uppercase())
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
    is_name.then_some((name, text.strip_prefix('=').unwrap_or(text).trim()))
}

/// The longest line after its macros were expanded: a macro may name others.
const LONGEST: usize = 1 << 14;

/// A line with the texts of macros in place of their names.
fn expanded(line: &str, macros: &BTreeMap<String, String>) -> String {
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let mut text = String::new();
    let mut rest = line;
    while let Some(c) = rest.chars().next() {
        let end = rest.find(|c| !is_of_name(c)).unwrap_or(rest.len()).max(c.len_utf8());
        let (word, after) = rest.split_at(end);
        let meaning = macros.get(word).filter(|meaning| text.len() + meaning.len() < LONGEST);
        text += meaning.map_or(word, String::as_str);
        rest = after;
    }
    text
}

/// What of the main section refuses or delays, too.
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

/// Lines, where a line that ends with a backslash is joined to the next.
fn joined(text: &str) -> Vec<(usize, String)> {
    let mut joined: Vec<(usize, String)> = Vec::new();
    let mut goes_on = false;
    for (line, text) in lines(text, &["#"]) {
        let (text, next) = text.strip_suffix('\\').map_or((text, false), |text| (text, true));
        match joined.last_mut().filter(|_| goes_on) {
            Some((_, before)) => *before += text,
            None => joined.push((line, text.to_owned())),
        }
        goes_on = next;
    }
    joined
}

impl Statement {
    fn read(self, earlier: &mut Earlier, config: &mut Config) {
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
fn only(condition: &str) -> Only {
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
        // After a last entry that says no, what matches nothing is in the list.
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
fn fields(key: &[&str], addresses: &mut Addresses) -> Result<(Vec<String>, String), String> {
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

/// Exim's word for the cost of a mail, and the ACLs in which Exim knows the cost. The cost is the value of a field, or
/// 1 without a field. `None` if Exim can't count the field.
pub(crate) fn counted(cost: Option<&str>) -> Option<(&'static str, &'static str)> {
    match cost {
        None => Some(("per_mail", "acl_smtp_mail, acl_smtp_rcpt or acl_smtp_data")),
        Some("bytes") => Some(("per_byte", "acl_smtp_data")),
        Some("recipients") => Some(("per_rcpt", "acl_smtp_data")),
        Some(_) => None,
    }
}

pub(crate) fn write(
    limits: &[Limit],
    addresses: Addresses,
    cost: Option<&str>,
    notes: &mut Notes,
) -> Written {
    let unknown = || (None, format!("it counts no {} of a mail", cost.unwrap_or_default()));
    let (per_cost, acls) = counted(cost).ok_or_else(unknown)?;
    addresses.warn_of_ipv4(notes);
    let statements = each(limits, |n, limit| {
        let AnyLimiter::Exim(exim) = &limit.limiter else {
            let problem = "it measures a rate of its own; write a limit such as exim 10/1m strict";
            return Err(problem.to_owned());
        };
        if exim.measures_only() {
            return Err("a limit of 0 only measures; write one above 0".to_owned());
        }
        let per = exim.limit.per();
        if per.as_secs_f64() != libm::floor(per.as_secs_f64()) {
            return Err("its periods are whole seconds".to_owned());
        }
        let mut conditions = String::new();
        for (condition, note) in limit.per.fields().iter().filter_map(|name| condition(name)) {
            conditions += condition;
            notes.add(note);
        }
        let number = (limits.len() > 1).then(|| format!("limit{n}"));
        let parts = number.into_iter().map(Ok).chain(key_parts(&limit.per, addresses));
        let key = parts.collect::<Result<Vec<String>, String>>()?.join(" / ");
        let count = exim.limit.count();
        let mode = exim.mode;
        Ok(format!(
            "deny\n{conditions}  message   = $sender_rate in $sender_rate_period is over the limit of \
             $sender_rate_limit\n  ratelimit = {count} / {per} / {per_cost} / {mode} / {key}\n"
        ))
    })?;
    if limits.len() > 1 {
        notes.add(
            "Exim reads one statement after the other: a message that a later limit refuses has \
             counted in the earlier ones, and one that an earlier limit refuses does not count in \
             the later",
        );
    }
    Ok(format!("# In the ACL of {acls}:\n{statements}"))
}

/// The condition that a mail has the field, and a note. Without it, all mails without the field would share one key.
fn condition(name: &str) -> Option<(&'static str, &'static str)> {
    match name {
        "user" | "auth" => {
            Some(("  authenticated = *\n", "a mail without a login is not limited per user"))
        }
        "sender" => {
            Some(("  !senders  = :\n", "a bounce, which has no sender, is not limited per sender"))
        }
        _ => None,
    }
}

fn key_parts(per: &Per, addresses: Addresses) -> impl Iterator<Item = Result<String, String>> {
    let all = per.fields().is_empty().then(|| Ok("all".to_owned()));
    all.into_iter().chain(per.fields().iter().map(move |name| part(name, addresses)))
}

fn part(name: &str, addresses: Addresses) -> Result<String, String> {
    let digest = |variable: &str| Ok(format!("${{md5:${variable}}}"));
    match name {
        "ip" | "address" if addresses.ipv6_prefix < 128 => Ok(format!(
            "${{if isip6{{$sender_host_address}}{{${{mask:$sender_host_address/{}}}}}{{$sender_host_address}}}}",
            addresses.ipv6_prefix
        )),
        "ip" | "address" => Ok("$sender_host_address".to_owned()),
        "user" | "auth" => digest("authenticated_id"),
        "sender" => digest("sender_address"),
        "host" => digest("sender_host_name"),
        "helo" => digest("sender_helo_name"),
        _ => Err(format!("it knows no {name}; the fields are ip, user, sender, host and helo")),
    }
}
