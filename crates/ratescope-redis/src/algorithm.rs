//! The parts of an algorithm's file.
//!
//! First come the functions that it needs. The part from `--- numbers:` on reads a state, from `--- look` on decides,
//! and from `--- keep` on changes the state. The part from `--- undo` on, if there is one, gives back; the lines that
//! read run before it. An algorithm with states in rings has a key for each state, and reads and writes parts of the
//! ring; its part from `--- tell` on returns the part of the state that a store has to know.

use core::hash::{Hash, Hasher};
use ratescope::limit::FORMS;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::in_f64::Lua;
use std::sync::LazyLock;

macro_rules! texts {
    ($($name:literal)*) => {
        &[$(($name, include_str!(concat!("lua/", $name, ".lua")))),*]
    };
}

/// The files by their names, which the limiters give.
const TEXTS: &[(&str, &str)] = texts! {
    "adaptive" "blocks" "bucket" "by_hour" "counter" "earrrl" "envoy" "exim" "fail2ban" "haproxy" "nginx" "window"
};

/// An algorithm: the parts of its file.
#[derive(Debug)]
pub(super) struct LuaAlgorithm {
    pub(super) name: &'static str,
    /// The name of its initial state.
    pub(super) initial: String,
    /// The functions it needs.
    pub(super) before: &'static str,
    /// The names of its numbers.
    pub(super) numbers: Vec<&'static str>,
    /// Reads a state.
    pub(super) read: &'static str,
    /// Decides about the state that was read.
    pub(super) look: &'static str,
    /// Changes the state.
    pub(super) keep: &'static str,
    /// Returns the part of a state in a ring that a store has to know; other states are returned whole.
    pub(super) tell: Option<&'static str>,
    /// Gives back, if it can.
    pub(super) undo: Option<&'static str>,
}

/// It has the form of the adaptive limiter.
const BY_HOUR: &str = "adaptive x3 decay 1m floor 5 by hour";

/// The algorithms of all limiters, in the order of their names.
static ALL: LazyLock<Vec<LuaAlgorithm>> = LazyLock::new(|| {
    let examples = FORMS.iter().map(|form| form.example).chain([BY_HOUR]);
    let limiters = examples.filter_map(|example| example.parse::<AnyLimiter>().ok());
    let mut luas: Vec<Lua> =
        limiters.filter_map(|limiter| Some(limiter.in_f64().ok()?.lua)).collect();
    luas.sort_unstable_by_key(|lua| lua.name);
    luas.dedup();
    luas.into_iter().map(LuaAlgorithm::new).collect()
});

pub(super) fn of(lua: Lua) -> Option<&'static LuaAlgorithm> {
    ALL.iter().find(|algorithm| algorithm.name == lua.name)
}

/// All algorithms, in the order of their names.
pub(super) fn all() -> &'static [LuaAlgorithm] {
    &ALL
}

/// An algorithm is known by its name.
impl PartialEq for LuaAlgorithm {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

impl Eq for LuaAlgorithm {}

impl Hash for LuaAlgorithm {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.name.hash(hasher);
    }
}

impl LuaAlgorithm {
    fn new(lua: Lua) -> Self {
        let text = TEXTS.iter().find(|(name, _)| *name == lua.name).map_or("", |(_, text)| text);
        let (before, rest) = text.split_once("--- numbers: ").unwrap_or((text, ""));
        let (names, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        let (look, rest) = rest.split_once("--- keep\n").unwrap_or((rest, ""));
        let (read, look) = look.split_once("--- look\n").unwrap_or(("", look));
        let (rest, undo) = split_off(rest, "--- undo\n");
        let (keep, tell) = split_off(rest, "--- tell\n");
        LuaAlgorithm {
            name: lua.name,
            initial: lua.name.to_uppercase(),
            before,
            numbers: names.split(' ').collect(),
            read,
            look,
            keep,
            tell,
            undo,
        }
    }

    /// True if the limit depends on the state: it is told in place of a wait.
    pub(super) fn finds_its_limit(&self) -> bool {
        matches!(self.name, "adaptive" | "by_hour")
    }

    pub(super) fn is_ring(&self) -> bool {
        self.tell.is_some()
    }

    /// The line that reads the cost and the numbers, from the place `next_` of the arguments on.
    pub(super) fn arguments(&self) -> String {
        let names = self.numbers.join(", ");
        let format = "d".repeat(self.numbers.len() + 1);
        format!("local w, {names}, next_ = unpack('<{format}', args_, next_)\n")
    }

    /// All of its text.
    pub(super) fn texts(&self) -> impl Iterator<Item = &'static str> {
        let always = [self.before, self.read, self.look, self.keep];
        always.into_iter().chain(self.tell).chain(self.undo)
    }
}

fn split_off<'a>(text: &'a str, mark: &str) -> (&'a str, Option<&'a str>) {
    match text.split_once(mark) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn example(limiter: &str) -> &'static LuaAlgorithm {
        of(limiter.parse::<AnyLimiter>().unwrap().in_f64().unwrap().lua).unwrap()
    }

    #[test]
    fn files_have_all_parts() {
        for limiter in FORMS.iter().map(|form| form.example).chain([BY_HOUR]) {
            let algorithm = example(limiter);
            assert!((2..=7).contains(&algorithm.numbers.len()), "{algorithm:?}");
            assert!(!algorithm.look.is_empty() && !algorithm.keep.is_empty(), "{algorithm:?}");
            assert!(algorithm.texts().all(|text| !text.contains("---")), "{algorithm:?}");
        }
    }

    #[test]
    fn those_give_back_that_do_in_memory() {
        for text in FORMS.iter().map(|form| form.example).chain([BY_HOUR]) {
            let limiter: AnyLimiter = text.parse().unwrap();
            assert_eq!(example(text).undo.is_some(), limiter.can_undo(), "{text}");
        }
    }
}
