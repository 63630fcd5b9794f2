//! The parts of an algorithm's file.
//!
//! First come the functions it needs; from `--- numbers:` on, how it looks at a state; and from `--- keep` on,
//! how it changes the state. If it can give back, a part from `--- undo` on does so, after the lines before
//! `--- look`, which read the state. An algorithm whose states are in a ring has a key for each state, and reads
//! and writes parts of it; a part from `--- tell` on then says what a store has to know of the state.

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
    "adaptive" "blocks" "bucket" "counter" "earrrl" "envoy" "exim" "fail2ban" "haproxy" "nginx" "window"
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
    /// Says what has to be known of a state in a ring; other states are told as they are.
    pub(super) tell: Option<&'static str>,
    /// Gives back, if it can.
    pub(super) undo: Option<&'static str>,
}

/// The algorithms of all limiters, in the order of their names.
static ALL: LazyLock<Vec<LuaAlgorithm>> = LazyLock::new(|| {
    let lua = |example: &str| Some(example.parse::<AnyLimiter>().ok()?.in_f64()?.lua);
    let mut luas: Vec<Lua> = FORMS.iter().filter_map(|form| lua(form.example)).collect();
    luas.sort_unstable_by_key(|lua| lua.name);
    luas.dedup();
    luas.into_iter().map(LuaAlgorithm::new).collect()
});

/// The algorithm of this number.
pub(super) fn numbered(number: u8) -> Option<&'static LuaAlgorithm> {
    ALL.get(usize::from(number))
}

/// The number of an algorithm.
pub(super) fn number(lua: Lua) -> Option<u8> {
    let place = ALL.binary_search_by_key(&lua.name, |algorithm| algorithm.name);
    u8::try_from(place.ok()?).ok()
}

/// The numbers of all algorithms.
pub(super) fn all() -> impl Iterator<Item = u8> {
    (0..=u8::MAX).take(ALL.len())
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
        let (initial, numbers) = (lua.name.to_uppercase(), names.split(' ').collect());
        LuaAlgorithm { name: lua.name, initial, before, numbers, read, look, keep, tell, undo }
    }

    /// Whether its states are in rings.
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

    fn of(limiter: &str) -> &'static LuaAlgorithm {
        let lua = limiter.parse::<AnyLimiter>().unwrap().in_f64().unwrap().lua;
        numbered(number(lua).unwrap()).unwrap()
    }

    #[test]
    fn files_have_all_parts() {
        for form in FORMS {
            let algorithm = of(form.example);
            assert!((2..=5).contains(&algorithm.numbers.len()), "{algorithm:?}");
            assert!(!algorithm.look.is_empty() && !algorithm.keep.is_empty(), "{algorithm:?}");
            assert!(algorithm.texts().all(|text| !text.contains("---")), "{algorithm:?}");
        }
    }

    #[test]
    fn those_give_back_that_do_in_memory() {
        for form in FORMS {
            let limiter: AnyLimiter = form.example.parse().unwrap();
            let has_undo = of(form.example).undo.is_some();
            assert_eq!(has_undo, limiter.can_give_back(), "{}", form.example);
        }
    }
}
