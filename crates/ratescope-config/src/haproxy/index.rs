//! Which rule tracks a request, in which table, and what else a rule refers to.

use super::condition::{Compared, count, is_rate};
use super::sections::{Line, Section, Sections};
use std::collections::{BTreeMap, BTreeSet};

/// The lines of an ACL.
#[derive(Default)]
pub(super) struct Acl<'a> {
    pub(super) lines: Vec<&'a Line>,
    pub(super) names_a_rate: bool,
    pub(super) count: Option<&'a str>,
}

/// Where things are.
pub(super) struct Index<'a> {
    pub(super) sections: &'a [Section],
    /// How many sections take requests.
    taking: usize,
    pub(super) acls: BTreeMap<(usize, &'a str), Acl<'a>>,
    /// The rules of a section by their action, in the order in which HAProxy runs them.
    pub(super) actions: BTreeMap<(usize, &'a str), Vec<&'a Line>>,
    /// The rules of a section that track in a table.
    tracks: BTreeMap<(usize, &'a str), Vec<&'a Line>>,
    /// The rates in tables, as in `http_req_rate(10s)`, with line and period, by table and rate.
    pub(super) stores: BTreeMap<(&'a str, &'a str), (&'a Line, &'a str)>,
    /// The frontends that lead to a backend.
    frontends: BTreeMap<&'a str, BTreeSet<usize>>,
    /// The lines of a frontend that lead to backends, in the order in which HAProxy asks them.
    pub(super) routes: BTreeMap<usize, Vec<&'a Line>>,
}

impl<'a> Index<'a> {
    pub(super) fn new(all: &'a Sections) -> Self {
        let mut index = Index {
            sections: &all.sections,
            taking: all.sections.iter().filter(|section| section.takes()).count(),
            acls: BTreeMap::new(),
            actions: BTreeMap::new(),
            tracks: BTreeMap::new(),
            stores: BTreeMap::new(),
            frontends: BTreeMap::new(),
            routes: BTreeMap::new(),
        };
        for line in &all.lines {
            let section = line.section;
            let own = all.sections[section].name.as_str();
            match line.word(0) {
                "acl" => {
                    let acl = index.acls.entry((section, line.word(1))).or_default();
                    acl.lines.push(line);
                    acl.names_a_rate |= line.words.iter().skip(2).any(|word| is_rate(word));
                    acl.count = acl.count.or(line.words.get(2).and_then(|word| count(word)));
                }
                "stick-table" => index.add_stores(own, line),
                "table" => index.add_stores(line.word(1), line),
                "default_backend" | "use_backend" => {
                    index.routes.entry(section).or_default().push(line);
                    _ = index.frontends.entry(line.word(1)).or_default().insert(section);
                }
                _ => {}
            }
        }
        for routes in index.routes.values_mut() {
            routes.sort_by_key(|route| route.word(0) == "default_backend");
        }
        let mut rules: Vec<&Line> = all.lines.iter().collect();
        rules.sort_by_key(|line| line.phase());
        for rule in rules.into_iter().filter(|rule| !rule.action().is_empty()) {
            let section = rule.section;
            index.actions.entry((section, rule.action())).or_default().push(rule);
            if rule.action().starts_with("track-sc") {
                let table = rule.after("table").unwrap_or(&all.sections[section].name);
                index.tracks.entry((section, table)).or_default().push(rule);
            }
        }
        index
    }

    fn add_stores(&mut self, table: &'a str, line: &'a Line) {
        let after = line.words.windows(2).filter(|pair| pair[0] == "store");
        for store in after.flat_map(|pair| pair[1].split(',')) {
            let rate = store.strip_suffix(')').and_then(|store| store.split_once('('));
            if let Some((rate, period)) = rate {
                self.stores.entry((table, rate)).or_insert((line, period));
            }
        }
    }

    /// The rule that tracks a request for a comparison, and the scope of the section's rules.
    pub(super) fn track(
        &self,
        rule: &Line,
        compared: &Compared<'_>,
    ) -> Result<(&'a Line, Option<String>), String> {
        let Section { kind, name } = &self.sections[rule.section];
        let is_before = |track: &Line| (track.phase(), track.number) < (rule.phase(), rule.number);
        if let Some(track) = self.track_in(rule.section, compared, &is_before)? {
            return Ok((track, None));
        }
        let frontends = self.frontends.get(name.as_str()).filter(|_| kind == "backend");
        let mut tracks = Vec::new();
        for frontend in frontends.into_iter().flatten() {
            tracks.extend(self.track_in(*frontend, compared, &|_| true)?);
        }
        match tracks.as_slice() {
            [track] => Ok((track, Some(format!("backend {name}")))),
            [] => Err("no rule before it tracks the request, so the rate is without it".to_owned()),
            _ => Err("several frontends track for it, which is not understood".to_owned()),
        }
    }

    /// The rule of a section that tracks. Of two rules with one counter, the first is in force.
    fn track_in(
        &self,
        section: usize,
        compared: &Compared<'_>,
        is_before: &dyn Fn(&Line) -> bool,
    ) -> Result<Option<&'a Line>, String> {
        let action = format!("track-sc{}", compared.counter.unwrap_or_default());
        let tracks = match compared.counter {
            Some(_) => self.actions.get(&(section, action.as_str())),
            // The address of the client is looked up where it was tracked.
            None => {
                let own = self.sections[section].name.as_str();
                self.tracks.get(&(section, compared.table.unwrap_or(own)))
            }
        };
        let Some((first, others)) = tracks.and_then(|tracks| tracks.split_first()) else {
            return Ok(None);
        };
        if first.condition().is_some() && others.first().is_some_and(|line| is_before(line)) {
            return Err(
                "several rules track for it under conditions, which is not understood".to_owned()
            );
        }
        Ok(Some(*first).filter(|line| is_before(line)))
    }

    /// The frontend of a rule, if there are others.
    pub(super) fn place(&self, rule: &Line) -> Option<String> {
        let takes = |section: &&Section| section.takes();
        let Section { kind, name } = self.sections.get(rule.section).filter(takes)?;
        (self.taking > 1).then(|| format!("{kind} {name}"))
    }
}
