//! nginx: `limit_req_zone` and `limit_req`.
//!
//! Source: nginx, "Module ngx_http_limit_req_module", and its source; for [`ratescope::limit::nginx`] there is more. nginx
//! asks several `limit_req` of one place first and then counts in all or in none, as a policy does. Values are constants
//! there, except the key.

use crate::blocks::{Ends, Statement, read as statements, walk};
use crate::earlier::Earlier;
use crate::field::{Field, fields, header, ip, joined, unknown};
use crate::only::host;
use crate::read::{Config, Found, Remark, limit, said, scoped};
use crate::words::{has, whole};
use crate::write::{Names, Notes, PROXIES, Written, each, is_whole, token_bucket, whole_count};
use crate::{Addresses, Is, Only, Test};
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::nginx::{Delay, Nginx};
use ratescope::policy::{Limit, Per};
use ratescope::rate::Rate;
use ratescope::time::Span;
use std::collections::{BTreeMap, BTreeSet};

pub(crate) const NAMES: Names = Names { name: "nginx", title: "nginx", file: "nginx.conf" };

pub(crate) fn is_known(text: &str) -> bool {
    has(text, &["#"], "limit_req_zone") || has(text, &["#"], "limit_req zone=")
}

/// A zone: its key and rate as written, and, once it is used, as counted.
struct Zone<'a> {
    line: usize,
    /// Several words in Tengine.
    key: &'a [String],
    name: &'a str,
    rate: &'a str,
    counted: Option<Result<(String, Key), String>>,
}

/// What is defined for all levels.
#[derive(Default)]
struct Defined<'a> {
    zones: Vec<Zone<'a>>,
    /// The places of zones by their names.
    names: BTreeMap<&'a str, usize>,
    maps: BTreeMap<&'a str, Map<'a>>,
    /// The hint for a missing definition.
    hint: &'static str,
    servers: Servers<'a>,
}

pub(crate) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    let statements = statements(text, Ends::Semicolon)?;
    let mut all = Defined::default();
    walk(&statements, &mut Vec::new(), &mut |statement, around| match statement.word(0) {
        "limit_req_zone" => {
            all.add(zone(statement, config), config);
            not_within(&["server", "location", "if"], statement, around, config);
        }
        "limit_req" => not_within(&["if", "upstream", "events"], statement, around, config),
        "limit_conn" => config.beside(statement.line, "limit_conn"),
        "map" => all.maps.extend(Map::new(statement)),
        "server" if !statement.block.is_empty() => all.servers.add(statement),
        "real_ip_header" if statement.word(1).eq_ignore_ascii_case("x-forwarded-for") => {
            config.addresses.forwarded = true;
        }
        "include" if statement.word(1) != "mime.types" => {
            all.hint = "; a file that is included may have it, and nginx -T prints all";
        }
        name if name.starts_with("limit_req_") && !KNOWN.contains(&name) => {
            let name = said(name);
            config.remark(
                statement.line,
                format!(
                    "{name} is not understood; it may let some pass, whom the trial counts, too"
                ),
            );
        }
        _ => {}
    });
    level(&statements, &Level::default(), &mut all, config);
    let hint = all.hint;
    for zone in all.zones.iter().filter(|zone| zone.counted.is_none()) {
        let name = said(zone.name);
        config.remark(zone.line, format!("no limit_req here uses the zone {name:?}{hint}"));
    }
    Ok(())
}

/// What begins with `limit_req_`. The white list is Tengine's.
const KNOWN: [&str; 5] = [
    "limit_req_zone",
    "limit_req_status",
    "limit_req_log_level",
    "limit_req_dry_run",
    "limit_req_whitelist",
];

/// Refuses a statement within blocks where nginx does.
fn not_within(blocks: &[&str], statement: &Statement, around: &[&Statement], config: &mut Config) {
    if let Some(block) = around.iter().map(|it| it.word(0)).find(|it| blocks.contains(it)) {
        let name = said(statement.word(0));
        config.refuse(statement.line, format!("{name} is within {block}"));
    }
}

/// What holds for a level and those within it.
#[derive(Clone, Default)]
struct Level {
    around: Vec<String>,
    only: Only,
    /// The line of the `limit_req_dry_run` in force.
    dry: Option<usize>,
    /// The addresses or the variable of Tengine's `limit_req_whitelist`.
    exempt: Option<String>,
    /// The line of a `return` of the server, and the conditions of others.
    answered: Earlier,
    is_location: bool,
}

/// Reads the limits of a level, which inner levels without their own inherit.
fn level(block: &[Statement], outer: &Level, all: &mut Defined<'_>, config: &mut Config) {
    let own = |name: &str| block.iter().find(|inner| inner.begins_with(name));
    let mut here = outer.clone();
    if let Some(own) = own("limit_req_dry_run") {
        if !["on", "off"].contains(&own.word(1)) {
            config.refuse(own.line, "limit_req_dry_run is on or off");
        }
        here.dry = Some(own.line).filter(|_| own.word(1) == "on");
    }
    if let Some(own) = own("limit_req_whitelist") {
        here.exempt = Some(exempt(own));
    }
    if let Some(status) = own("limit_req_status")
        && !whole(status.word(1), "").is_ok_and(|code| (400..600).contains(&code))
    {
        config.refuse(status.line, "limit_req_status is not from 400 to 599");
    }
    for first in block {
        match first.word(0) {
            "return" => here.answered.add(first.line, "return", true),
            "if" if first.block.iter().any(|inner| inner.begins_with("return")) => {
                here.answered.add(first.line, &format!("{} return", first.text()), false);
            }
            _ => {}
        }
    }
    let mut limits =
        block.iter().filter(|inner| inner.begins_with("limit_req") && !is_off(inner)).peekable();
    if limits.peek().is_some() {
        let mut others = Others::default();
        others.find(block, all);
        let scope = others.scope(&here);
        let mut only = here.only.clone();
        only.and(others.only());
        let mut seen = BTreeSet::new();
        for statement in limits {
            let name = argument(statement, "zone=").unwrap_or_default();
            if !seen.insert(name) && !name.is_empty() {
                config.refuse(
                    statement.line,
                    format!("it counts in the zone {:?} again", said(name)),
                );
            }
            all.read(statement, scope.as_deref(), &only, &here.answered, config);
            if let Some(line) = here.dry {
                config.remark(
                    statement.line,
                    format!(
                        "limit_req_dry_run is on (line {line}), so nginx refuses nothing by it"
                    ),
                );
            }
        }
    }
    let is_server = |inner: &&Statement| inner.begins_with("server") && !inner.block.is_empty();
    let several = block.iter().filter(is_server).count() > 1;
    for inner in block.iter().filter(|inner| !inner.block.is_empty()) {
        let unnamed = || (several && is_server(&inner)).then(|| unnamed(inner));
        let mut within = here.clone();
        within.around.extend(place(inner).or_else(unnamed));
        match inner.word(0) {
            "server" => within.only.and(all.servers.only(inner)),
            "location" => {
                // A location has rewrite rules of its own, and those of its server.
                if here.is_location {
                    within.answered = outer.answered.clone();
                }
                within.is_location = true;
                within.only.and(location(inner, block));
            }
            _ => {}
        }
        level(&inner.block, &within, all, config);
    }
}

/// `limit_req off` of Tengine.
fn is_off(statement: &Statement) -> bool {
    statement.word(1) == "off" && statement.words.len() == 2
}

/// Those that a `limit_req_whitelist` of Tengine lets pass.
fn exempt(whitelist: &Statement) -> String {
    match (argument(whitelist, "geo_var_name="), argument(whitelist, "geo_var_value=")) {
        (Some(name), Some(value)) => {
            format!("requests whose ${} is {}", said(name), said(value))
        }
        _ => format!("those of the {}", said(&whitelist.text())),
    }
}

fn unnamed(block: &Statement) -> String {
    format!("the {} of line {}", said(block.word(0)), block.line)
}

/// What the requests of a block have in common.
fn place(block: &Statement) -> Option<String> {
    match block.word(0) {
        "server" => {
            let name = block.block.iter().find(|inner| inner.begins_with("server_name"))?;
            let names = name.words.iter().skip(1).map(String::as_str);
            scoped(["server"].into_iter().chain(names), " ")
        }
        "location" | "if" => scoped(&block.words, " "),
        _ => None,
    }
}

/// The most locations of a server, and the most names of hosts, by which a request is told apart.
const TOLD: usize = 100;

/// The servers and their names.
#[derive(Default)]
struct Servers<'a> {
    /// The line of each, and its names.
    all: Vec<(usize, Vec<&'a str>)>,
    default: Option<usize>,
}

impl<'a> Servers<'a> {
    fn add(&mut self, server: &'a Statement) {
        let names = server.block.iter().filter(|inner| inner.begins_with("server_name"));
        let names = names.flat_map(|it| it.words.iter().skip(1)).map(String::as_str).collect();
        let is_default = server.block.iter().any(|inner| {
            inner.begins_with("listen")
                && inner.words.iter().any(|word| word.starts_with("default"))
        });
        if is_default {
            self.default = self.default.or(Some(server.line));
        }
        self.all.push((server.line, names));
    }

    /// The requests of a server: those for its names, or, of the default server, those for no other name. One alone
    /// has all.
    fn only(&self, server: &Statement) -> Only {
        if self.all.len() < 2 {
            return Only::All;
        }
        if self.all.len() > TOLD {
            return Only::Unknown(format!("it is for one of more than {TOLD} servers"));
        }
        let default = self.default.or(self.all.first().map(|(line, _)| *line));
        let is_default = default == Some(server.line);
        let names = self.all.iter().filter(|(line, _)| (*line == server.line) != is_default);
        let names: Vec<&str> = names.flat_map(|(_, names)| names).copied().collect();
        if names.len() > TOLD {
            return Only::Unknown(format!("it depends on more than {TOLD} names of servers"));
        }
        if names.is_empty() && !is_default {
            return Only::All;
        }
        let test = Test::any(names.into_iter().map(server_name));
        Only::Fields(if is_default { test.not() } else { test })
    }
}

/// A name of a server, which may be a regular expression, or begin with a dot for itself and all below it.
fn server_name(name: &str) -> Test {
    if let Some(expression) = name.strip_prefix('~') {
        return Test::field("host", Is::Like(format!("(?i){expression}")));
    }
    match name.strip_prefix('.') {
        Some(below) => {
            Test::any([below, &format!("*{name}")].map(|it| Test::field("host", host(it))))
        }
        None => Test::field("host", host(name)),
    }
}

/// How a location matches: `=`, `^~`, `~`, `~*` or nothing, and what.
fn matching(location: &Statement) -> (&str, &str) {
    match location.words.len() {
        2 => ("", location.word(1)),
        _ => (location.word(1), location.word(2)),
    }
}

fn matches(location: &Statement) -> Test {
    let (how, what) = matching(location);
    let is = match how {
        "=" => Is::Exactly(what.to_owned()),
        "~" => Is::Like(what.to_owned()),
        "~*" => Is::Like(format!("(?i){what}")),
        _ => Is::Begins(what.to_owned()),
    };
    Test::field("path", is)
}

/// The requests of a location among those of its block. An exact one comes first; then, unless it says `^~`, the
/// longest prefix gives way to the first regular expression that matches.
///
/// Source: nginx, "Module ngx_http_core_module", `location`.
fn location(location: &Statement, block: &[Statement]) -> Only {
    let all = || block.iter().filter(|inner| inner.begins_with("location"));
    let (how, what) = matching(location);
    if what.starts_with('@') {
        return Only::Unknown(format!("it is for {}, to which others lead", said(what)));
    }
    if all().nth(TOLD).is_some() {
        return Only::Unknown(format!("it is for one of more than {TOLD} locations"));
    }
    let is_expression = |how: &str| how.starts_with('~');
    let others = || all().filter(|other| !std::ptr::eq(*other, location));
    let mut tests = vec![matches(location)];
    let longer = |than: &str| {
        let than = than.to_owned();
        others().filter(move |other| {
            let (how, what) = matching(other);
            !is_expression(how) && how != "=" && what.len() > than.len() && what.starts_with(&than)
        })
    };
    let none = |tests: Vec<Test>| (!tests.is_empty()).then(|| Test::any(tests).not());
    let exact = others().filter(|other| matching(other).0 == "=" && how != "=");
    if is_expression(how) {
        let earlier = all().take_while(|other| !std::ptr::eq(*other, location));
        tests.extend(none(exact.map(matches).collect()));
        tests.extend(none(
            earlier.filter(|it| is_expression(matching(it).0)).map(matches).collect(),
        ));
        let firm = others().filter(|other| matching(other).0 == "^~").map(|firm| {
            let longer = longer(matching(firm).1).map(matches).collect();
            Test::all([matches(firm)].into_iter().chain(none(longer)))
        });
        tests.extend(none(firm.collect()));
    } else if how != "=" {
        let exact = exact.filter(|other| matching(other).1.starts_with(what));
        tests.extend(none(exact.map(matches).collect()));
        tests.extend(none(longer(what).map(matches).collect()));
        if how != "^~" {
            let expressions = others().filter(|it| is_expression(matching(it).0));
            tests.extend(none(expressions.map(matches).collect()));
        }
    }
    Test::all(tests).into()
}

/// The blocks within a level to which its limits do not apply: blocks with limits of their own, which replace all outer
/// limits, and blocks where nothing is refused.
#[derive(Default)]
struct Others {
    named: Vec<String>,
    more: usize,
    /// The requests of these blocks.
    only: Vec<Only>,
}

impl Others {
    fn find(&mut self, block: &[Statement], all: &Defined<'_>) {
        self.find_within(block, &Only::All, all);
    }

    fn find_within(&mut self, block: &[Statement], around: &Only, all: &Defined<'_>) {
        const NAMED: usize = 3;
        for inner in block.iter().filter(|inner| !inner.block.is_empty()) {
            let is_own = |inner: &Statement| {
                inner.begins_with("limit_req")
                    || inner.begins_with("limit_req_dry_run") && inner.word(1) == "on"
            };
            let mut only = around.clone();
            only.and(match inner.word(0) {
                "server" => all.servers.only(inner),
                "location" => location(inner, block),
                _ => Only::All,
            });
            if !inner.block.iter().any(is_own) {
                self.find_within(&inner.block, &only, all);
                continue;
            }
            if self.only.len() <= TOLD {
                self.only.push(only);
            }
            if self.named.len() < NAMED {
                self.named.push(place(inner).unwrap_or_else(|| unnamed(inner)));
            } else {
                self.more += 1;
            }
        }
    }

    /// The requests of no such block.
    fn only(&self) -> Only {
        if self.only.len() > TOLD {
            return Only::Unknown(format!("it is for all but more than {TOLD} blocks"));
        }
        let mut tests = Vec::new();
        for only in &self.only {
            match only {
                // It can't be told apart by the fields of a log, such as a second server of the same name.
                Only::All => {}
                Only::Fields(test) => tests.push(test.clone().not()),
                Only::Unknown(_) => return only.clone(),
            }
        }
        Test::all(tests).into()
    }

    /// The scope of a level without these blocks.
    fn scope(&self, level: &Level) -> Option<String> {
        let exempt = level.exempt.as_ref();
        let level = scoped(&level.around, ", ");
        let more = (self.more > 0).then(|| format!("and {} more", self.more));
        let named = scoped(&self.named, ", ").map(|named| match more {
            Some(more) => format!("{named} {more}"),
            None => named,
        });
        let Some(named) = scoped(named.iter().chain(exempt), ", ") else { return level };
        let level = level.unwrap_or_else(|| "all".to_owned());
        Some(format!("{level} except {named}"))
    }
}

/// The value of an argument, as in `zone=one`. Of several nginx takes the last.
fn argument<'a>(statement: &'a Statement, name: &str) -> Option<&'a str> {
    statement.words.iter().skip(1).rev().find_map(|word| word.strip_prefix(name))
}

/// The least size of a zone in bytes: eight pages.
const LEAST: u64 = 32_768;

fn zone<'a>(statement: &'a Statement, config: &mut Config) -> Zone<'a> {
    let line = statement.line;
    let (name, size) = argument(statement, "zone=").unwrap_or_default().split_once(':').unzip();
    let name = name.or(argument(statement, "zone=")).unwrap_or_default();
    let is_named = |word: &String| ["zone=", "rate="].iter().any(|name| word.starts_with(name));
    let words = statement.words.get(1..).unwrap_or_default();
    let end = words.iter().position(is_named).unwrap_or(words.len());
    let (key, arguments) = words.split_at(end);
    // In a template, a brace begins a block.
    if statement.block.is_empty() {
        if let Some(other) = arguments.iter().find(|it| !is_named(it) && it.as_str() != "sync") {
            config.refuse(line, format!("{:?} of limit_req_zone is unknown", said(other)));
        }
        let is_large = |size: &str| bytes(size).is_some_and(|bytes| bytes >= LEAST);
        if !name.is_empty() && !key.is_empty() && !size.is_some_and(is_large) {
            let [name, size] = [said(name), said(size.unwrap_or_default())];
            config.refuse(line, format!("the zone {name:?} has the size {size:?}"));
        }
        if argument(statement, "rate=").is_none() && !key.is_empty() {
            config.refuse(line, "limit_req_zone has no rate");
        }
    }
    let rate = argument(statement, "rate=").unwrap_or_default();
    Zone { line, key, name, rate, counted: None }
}

/// A size such as `10m`.
fn bytes(size: &str) -> Option<u64> {
    let digits = size.trim_end_matches(['k', 'K', 'm', 'M']);
    let unit = match size.len() - digits.len() {
        0 => 1,
        1 if size.ends_with(['k', 'K']) => 1 << 10,
        1 => 1 << 20,
        _ => return None,
    };
    whole(digits, "").ok()?.checked_mul(unit)
}

impl<'a> Defined<'a> {
    fn add(&mut self, zone: Zone<'a>, config: &mut Config) {
        match self.names.get(zone.name).and_then(|known| self.zones.get(*known)) {
            Some(known) if !zone.name.is_empty() => {
                let name = said(zone.name);
                let again = format!("the zone {name:?} is defined again in line {}", zone.line);
                config.refuse(known.line, again);
            }
            _ => {
                self.names.insert(zone.name, self.zones.len());
                self.zones.push(zone);
            }
        }
    }

    /// Reads a `limit_req` of a level.
    fn read(
        &mut self,
        statement: &Statement,
        scope: Option<&str>,
        only: &Only,
        answered: &Earlier,
        config: &mut Config,
    ) {
        let Some(name) = argument(statement, "zone=").filter(|name| !name.is_empty()) else {
            return config.remark(statement.line, "the zone of limit_req is missing");
        };
        let zone = self.names.get(name).and_then(|place| self.zones.get_mut(*place));
        let Some(zone) = zone else {
            let hint = self.hint;
            let problem = format!("the zone {:?} is not defined here{hint}", said(name));
            return config.remark(statement.line, problem);
        };
        // Many statements may use one zone, and its key may be long.
        let counted = zone.counted.take().unwrap_or_else(|| zone.read(&self.maps));
        // A mistake in the zone has the line of the zone.
        let (rate, key) = match zone.counted.insert(counted) {
            Ok(counted) => counted,
            Err(problem) => return config.remark(zone.line, problem.as_str()),
        };
        if key.may_be_empty {
            config.remark(
                statement.line,
                "nginx counts no request without this key; the trial counts them as those of one client",
            );
        }
        if let Some(action) = argument(statement, "forbid_action=") {
            let action = said(action);
            config.remark(
                statement.line,
                format!("requests above the limit go to {action}; the trial refuses them"),
            );
        }
        let scope = scoped(scope.into_iter().chain(key.only.as_deref()), ", ");
        let found = limit_req(statement, rate, &key.fields, config).map(|limit| Found {
            name: name.to_owned(),
            line: statement.line,
            limit,
            addresses: key.addresses,
            scope,
            only: only.clone(),
        });
        answered.add_limit(statement.line, found, config);
    }
}

/// The key of a zone.
#[derive(Default)]
struct Key {
    fields: Vec<String>,
    addresses: Addresses,
    /// It is empty in requests without a header or a user.
    may_be_empty: bool,
    /// The requests that are counted, if not all.
    only: Option<String>,
}

impl Zone<'_> {
    /// The rate and the key as counted.
    fn read(&self, maps: &BTreeMap<&str, Map<'_>>) -> Result<(String, Key), String> {
        let [key] = self.key else {
            // In a template, none may be before a brace.
            return Err(match self.key {
                [] => "the key that the zone counts by is missing".to_owned(),
                several => format!(
                    "it counts by {}: a key of several words, as Tengine has it, is not understood",
                    said(&several.join(" "))
                ),
            });
        };
        let (count, unit) = match self.rate {
            rate if rate.ends_with("r/s") => (rate.trim_end_matches("r/s"), "1s"),
            rate if rate.ends_with("r/m") => (rate.trim_end_matches("r/m"), "1m"),
            rate => return Err(format!("its rate is {:?}; nginx has 10r/s and 10r/m", said(rate))),
        };
        let count = whole(count, "its rate")?;
        let mut read = Key { may_be_empty: key.contains('$'), ..Key::default() };
        let mut seen = BTreeSet::new();
        for name in names(key) {
            let map = maps.get(name);
            if let Some(map) = map {
                read.addresses.ipv6_prefix = map.ipv6_prefix;
                if map.may_be_empty && key.trim_matches(['$', '{', '}']) != name {
                    return Err(unknown(key));
                }
                read.only = map
                    .may_be_empty
                    .then(|| format!("requests whose ${} is not empty", said(name)));
            }
            let name = map.map_or(name, |map| map.of);
            let is_given =
                name == "remote_user" || name.starts_with("http_") && name != "http_host";
            read.may_be_empty &= is_given;
            let field = field(name)?;
            if seen.insert(field.clone()) {
                read.fields.push(field);
            }
        }
        Ok((format!("{count}/{unit}"), read))
    }
}

/// The limit of a statement whose zone has this rate and these fields.
fn limit_req(
    statement: &Statement,
    rate: &str,
    fields: &[String],
    config: &mut Config,
) -> Result<Limit, String> {
    let mut burst = 0;
    let mut delay = String::new();
    for word in statement.words.iter().skip(1) {
        let (name, value) = word.split_once('=').map_or((word.as_str(), ""), |pair| pair);
        match name {
            "zone" | "forbid_action" => {}
            "nodelay" if value.is_empty() => delay = " nodelay".to_owned(),
            "burst" | "delay" => {
                let n = whole(value, &format!("its {name}"))?;
                if n == 0 {
                    config.refuse(statement.line, format!("its {name} is 0"));
                }
                match name {
                    "burst" => burst = n,
                    _ => delay = format!(" delay {n}"),
                }
            }
            _ => return Err(format!("{:?} of limit_req is not understood", said(word))),
        }
    }
    let burst = if burst > 0 { format!(" burst {burst}") } else { String::new() };
    limit(&format!("nginx {rate}{burst}{delay}"), fields)
}

/// A map that is understood: from a client's address to its network, as this program writes it; or to one variable for
/// the requests to count, and to nothing for the others.
struct Map<'a> {
    of: &'a str,
    ipv6_prefix: u8,
    may_be_empty: bool,
}

impl<'a> Map<'a> {
    /// The name of the variable, and its map.
    fn new(map: &'a Statement) -> Option<(&'a str, Self)> {
        let name = map.word(2).strip_prefix('$')?;
        let address = "binary_remote_addr";
        if map.word(1) == "$binary_remote_addr"
            && let Some(bytes) = map.block.iter().find_map(|entry| {
                let (bytes, _) =
                    entry.word(0).strip_prefix("~^(?s)(?<limit_net>.{")?.split_once('}')?;
                bytes.parse::<u8>().ok().filter(|bytes| (1..16).contains(bytes))
            })
        {
            return Some((name, Map { of: address, ipv6_prefix: bytes * 8, may_be_empty: false }));
        }
        let mut values = map.block.iter().map(|entry| entry.word(1));
        let is_plain = map.block.iter().all(|entry| entry.words.len() == 2);
        let of = values.clone().find(|value| !value.is_empty())?;
        let is_understood = is_plain && values.all(|value| value.is_empty() || value == of);
        // Without a default the value is empty.
        let has_default = map.block.iter().any(|entry| entry.begins_with("default"));
        let may_be_empty = !has_default || map.block.iter().any(|entry| entry.word(1).is_empty());
        let of = of.strip_prefix('$').filter(|_| is_understood)?;
        Some((name, Map { of, ipv6_prefix: 128, may_be_empty }))
    }
}

/// The names of the variables of a key.
fn names(key: &str) -> impl Iterator<Item = &str> {
    key.split('$').skip(1).map(|after| {
        let inner = after.strip_prefix('{').and_then(|after| after.split_once('}'));
        let end = after.find(|c: char| !c.is_ascii_alphanumeric() && c != '_');
        inner.map_or(&after[..end.unwrap_or(after.len())], |(name, _)| name)
    })
}

/// The field of a variable.
fn field(name: &str) -> Result<String, String> {
    Ok(match name {
        "binary_remote_addr" | "remote_addr" => ip(),
        "host" | "http_host" => "host".to_owned(),
        "uri" => "path".to_owned(),
        "request_method" => "method".to_owned(),
        "remote_user" => "user".to_owned(),
        name => match name.strip_prefix("http_").filter(|name| !name.is_empty()) {
            Some(name) => header(&name.replace('_', "-")),
            None => return Err(unknown(&format!("${name}"))),
        },
    })
}

pub(crate) fn write(limits: &[Limit], addresses: Addresses, notes: &mut Notes) -> Written {
    let mut uses = String::new();
    let client = client(addresses, notes);
    let modules = modules(addresses);
    let zones = each(limits, |n, limit| {
        let nginx = own(limit, notes)?;
        let key = key(&limit.per, client, notes)?;
        warn(&nginx, notes);
        uses += &format!("limit_req zone=limit{n}{};\n", words(&nginx));
        let unit = unit(&nginx);
        let count = nginx.rate().count();
        Ok(format!("limit_req_zone {key} zone=limit{n}:10m rate={count}r/{unit};\n"))
    })?;
    Ok(format!(
        "# In the http block:\n{modules}{zones}\n# In a server or location block:\n{uses}limit_req_status 429;\n"
    ))
}

/// The limiter of nginx that decides as the limit does.
fn own(limit: &Limit, notes: &mut Notes) -> Result<Nginx, String> {
    let ((rate, size), delay) = match &limit.limiter {
        AnyLimiter::Nginx(nginx) => return Ok(*nginx),
        AnyLimiter::LeakyBucket(bucket) => ((bucket.rate(), bucket.queue()), Delay::Beyond(0)),
        other => {
            let problem =
                "it has a bucket only; write a limit such as nginx 10/1s burst 20 nodelay";
            (token_bucket(other).ok_or(problem)?, Delay::Never)
        }
    };
    if !is_whole(size) {
        return Err("its burst is a whole number of events".to_owned());
    }
    let nginx = Nginx::new(whole_rate(rate)?, size as u64 - 1, delay).map_err(|e| e.to_string())?;
    notes.instead(limit, &nginx, "which counts in whole milliseconds and thousandths");
    Ok(nginx)
}

/// The rate as a whole number a second or, if this is not possible, a minute.
fn whole_rate(rate: Rate) -> Result<Rate, String> {
    for per in [Span::from_secs(1), Span::from_mins(1)] {
        if let Some(count) = whole_count(rate, per) {
            return Rate::new(count, per).map_err(|e| e.to_string());
        }
    }
    let minute = libm::round(rate.frequency() * 60e6) / 1e6;
    Err(format!("its rates are whole numbers a second or a minute, and this is {minute} a minute"))
}

fn unit(nginx: &Nginx) -> &'static str {
    if nginx.rate().per() == Span::from_secs(1) { "s" } else { "m" }
}

/// The words after the zone.
fn words(nginx: &Nginx) -> String {
    let burst = match nginx.burst() {
        0 => String::new(),
        burst => format!(" burst={burst}"),
    };
    match nginx.delay() {
        Delay::Beyond(0) => burst,
        Delay::Beyond(first) => format!("{burst} delay={first}"),
        Delay::Never => burst + " nodelay",
    }
}

fn warn(nginx: &Nginx, notes: &mut Notes) {
    let count = nginx.rate().count();
    let per = nginx.rate().per().as_secs_f64();
    let kept = libm::round(nginx.per_second() * per * 1e3) / 1e3;
    if kept != count {
        notes.add(format!(
            "nginx keeps {count}r/m in whole thousandths a second, and so as {kept} a minute"
        ));
    }
    if nginx.burst() == 0 {
        let gap = libm::ceil(1e3 / nginx.per_second());
        notes.add(format!(
            "without a burst, the second of two requests within {gap}ms is refused, whatever came \
             before"
        ));
    }
}

/// The variables for the address of a client: alone, and in a key with others.
type Client = [&'static str; 2];

/// Tells whether the map can cut addresses to the IPv6 networks of clients: it cuts between two bytes, so the prefix
/// must be a multiple of 8.
const fn has_map(addresses: Addresses) -> bool {
    matches!(addresses.ipv6_prefix, 1..128) && addresses.ipv6_prefix.is_multiple_of(8)
}

fn client(addresses: Addresses, notes: &mut Notes) -> Client {
    addresses.warn_of_ipv4(notes);
    if has_map(addresses) {
        return ["$limit_client"; 2];
    }
    if addresses.ipv6_prefix < 128 {
        notes.add("its IPv6 networks have whole bytes, so each IPv6 address is a client here");
    }
    ["$binary_remote_addr", "$remote_addr"]
}

/// The directives that find the client: the module for real addresses, and a map from an address to its network. A
/// value of the map begins with 4 for an IPv4 address, even if it comes as IPv6, and with 6 for an IPv6 network, so
/// that the two are never equal.
fn modules(addresses: Addresses) -> String {
    let mut text = String::new();
    if addresses.forwarded {
        text += "# The client as its proxies name it. They must be these, and no others:\n";
        text.extend(PROXIES.map(|network| format!("set_real_ip_from {network};\n")));
        text += "real_ip_header X-Forwarded-For;\nreal_ip_recursive on;\n";
    }
    if has_map(addresses) {
        let prefix = addresses.ipv6_prefix;
        let net = prefix / 8;
        let rest = 16 - prefix / 8;
        text += &format!(
            "# An IPv6 network of {prefix} bits is one client.\nmap $binary_remote_addr $limit_client {{\n    \
             default \"4$binary_remote_addr\";\n    \
             \"~^\\x00{{10}}\\xff{{2}}(?s)(?<limit_ipv4>.{{4}})\\z\" \"4$limit_ipv4\";\n    \
             \"~^(?s)(?<limit_net>.{{{net}}}).{{{rest}}}\\z\" \"6$limit_net\";\n}}\n"
        );
    }
    text
}

/// The key by which requests are counted. It is never empty: nginx does not limit an empty key.
fn key(per: &Per, [alone, joint]: Client, notes: &mut Notes) -> Result<String, String> {
    let fields = fields(per)?;
    joined(&fields).into_iter().for_each(|note| notes.add(note));
    if fields.contains(&Field::User) {
        notes.add(
            "nginx limits before it checks passwords: $remote_user is the name that a client \
             gives, and a client that gives others evades the limit",
        );
    }
    let names: Vec<String> = fields.iter().map(|field| name(field, joint)).collect();
    Ok(match fields.as_slice() {
        [] => "all".to_owned(),
        [Field::Ip] => alone.to_owned(),
        [Field::Host | Field::Path | Field::Method] => names.concat(),
        [_] => format!("\"={}\"", names.concat()),
        _ => format!("\"{}\"", names.join(" ")),
    })
}

fn name(field: &Field, client: &str) -> String {
    match field {
        Field::Ip => client.to_owned(),
        Field::Host => "$host".to_owned(),
        Field::Path => "$uri".to_owned(),
        Field::Method => "$request_method".to_owned(),
        Field::User => "$remote_user".to_owned(),
        Field::Header(header) => format!("$http_{}", header.replace('-', "_")),
    }
}
