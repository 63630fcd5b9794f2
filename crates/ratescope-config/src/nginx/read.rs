//! The limits of all levels.

use super::place::{Others, Servers, location, place, unnamed};
use super::zone::{Map, Zone, argument, limit_req, zone};
use crate::Only;
use crate::blocks::{Ends, Statement, read as statements, walk};
use crate::earlier::Earlier;
use crate::read::{Config, Found, Remark, said, scoped};
use crate::words::whole;
use std::collections::{BTreeMap, BTreeSet};

/// The definitions for all levels.
#[derive(Default)]
pub(super) struct Defined<'a> {
    zones: Vec<Zone<'a>>,
    /// The places of zones by their names.
    names: BTreeMap<&'a str, usize>,
    maps: BTreeMap<&'a str, Map<'a>>,
    /// The hint for a missing definition.
    hint: &'static str,
    pub(super) servers: Servers<'a>,
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

/// The directives that begin with `limit_req_`. The white list is Tengine's.
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

/// The settings of a level, which those within it inherit.
#[derive(Clone, Default)]
pub(super) struct Level {
    pub(super) around: Vec<String>,
    pub(super) only: Only,
    /// The line of the `limit_req_dry_run` in force.
    dry: Option<usize>,
    /// The addresses or the variable of Tengine's `limit_req_whitelist`.
    pub(super) exempt: Option<String>,
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

impl<'a> Defined<'a> {
    pub(super) fn add(&mut self, zone: Zone<'a>, config: &mut Config) {
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
    pub(super) fn read(
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
