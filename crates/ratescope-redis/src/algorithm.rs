//! The parts of an algorithm's file.
//!
//! First come the functions it needs; from `--- numbers:` on, how it looks at a state; and from `--- keep` on,
//! how it changes the state. If it can give back, a fourth part from `--- undo` on does so, after the lines before
//! `--- look`, which read the state.

use ratescope::limit::in_f64::Lua;
use std::collections::HashSet;

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
    pub(super) lua: Lua,
    /// The name of its initial state.
    pub(super) initial: String,
    /// The functions it needs.
    pub(super) before: &'static str,
    /// The names of its numbers.
    pub(super) numbers: Vec<&'static str>,
    /// Reads a state, and decides.
    pub(super) look: String,
    /// Changes the state.
    pub(super) keep: &'static str,
    /// Gives back, if it can.
    pub(super) undo: Option<String>,
}

impl LuaAlgorithm {
    pub(super) fn new(lua: Lua) -> Self {
        let text = TEXTS.iter().find(|(name, _)| *name == lua.name).map_or("", |(_, text)| text);
        let (before, rest) = text.split_once("--- numbers: ").unwrap_or((text, ""));
        let (names, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        let (look, rest) = rest.split_once("--- keep\n").unwrap_or((rest, ""));
        let (keep, undo) = rest.split_once("--- undo\n").unzip();
        let (read, look) = look.split_once("--- look\n").unwrap_or(("", look));
        let undo = undo.map(|undo| [read, undo].concat());
        let (look, keep) = ([read, look].concat(), keep.unwrap_or(rest));
        let numbers = names.split(' ').collect();
        LuaAlgorithm { lua, initial: lua.name.to_uppercase(), before, numbers, look, keep, undo }
    }

    /// The line that reads the cost and the numbers out of `from` into locals, followed by the names `more`.
    pub(super) fn read(&self, from: &str, more: &str) -> String {
        let names = self.numbers.join(", ");
        let format = "d".repeat(self.numbers.len() + 1);
        format!("local w, {names}{more} = unpack('<{format}', {from})\n")
    }

    /// The look and the keep, with `_n` after each of their names, so that several algorithms fit into one frame.
    pub(super) fn numbered(&self, n: usize) -> [String; 2] {
        const OWN: [&str; 7] = ["w", "passes", "level", "extra", "counted", "bytes", "life"];
        let declared =
            [&*self.look, self.keep].into_iter().flat_map(|text| text.split("local ").skip(1));
        let declared = declared.flat_map(|text| {
            let end = text.find(['=', '\n']).unwrap_or(text.len());
            text.get(..end).unwrap_or("").split(',').map(str::trim)
        });
        let own: HashSet<&str> = declared.chain(OWN).chain(self.numbers.iter().copied()).collect();
        [&*self.look, self.keep].map(|text| {
            let mut out = String::new();
            let mut rest = text;
            while !rest.is_empty() {
                let is_word = |c: char| c.is_ascii_alphanumeric() || c == '_';
                let word = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                let (word, after) = rest.split_at(word);
                out += word;
                if own.contains(word) {
                    out += &format!("_{n}");
                }
                let next = after.find(is_word).unwrap_or(after.len());
                let (between, after) = after.split_at(next);
                out += between;
                rest = after;
            }
            out
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;
    use ratescope::limit::FORMS;
    use ratescope::limit::any::AnyLimiter;

    pub(in super::super) fn algorithm(limiter: &str) -> LuaAlgorithm {
        LuaAlgorithm::new(limiter.parse::<AnyLimiter>().unwrap().in_f64().unwrap().lua)
    }

    #[test]
    fn files_have_all_parts() {
        for form in FORMS {
            let algorithm = algorithm(form.example);
            assert!((2..=5).contains(&algorithm.numbers.len()), "{algorithm:?}");
            assert!(!algorithm.look.is_empty() && !algorithm.keep.is_empty(), "{algorithm:?}");
        }
    }

    #[test]
    fn those_give_back_that_do_in_memory() {
        for form in FORMS {
            let limiter: AnyLimiter = form.example.parse().unwrap();
            let has_undo = algorithm(form.example).undo.is_some();
            assert_eq!(has_undo, limiter.can_give_back(), "{}", form.example);
        }
    }

    #[test]
    fn names_get_numbers_and_nothing_else_does() {
        let [look, keep] = algorithm("1/1s").numbered(7);
        assert!(look.contains("local number_7 = floor(now / period_7)"), "{look}");
        assert!(keep.contains("bytes_7 = content_7 > 0 and put_signed(number_7)"), "{keep}");
    }
}
