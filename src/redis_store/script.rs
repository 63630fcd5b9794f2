//! Builds scripts out of a frame and the algorithms in it.
//!
//! The file of an algorithm has three parts: the functions it needs; from `--- numbers:` on, how it
//! looks at a state; and from `--- keep` on, how it changes the state. For one limit, or a few at one
//! key, the parts are put into the frame one after the other. For any limits at several keys, the look
//! is a function that returns the change as another function.

use crate::limit::in_f64::Form;
use sha1_smol::Sha1;
use std::collections::HashSet;

/// A script, and the SHA-1 by which Redis knows it.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) text: String,
    pub(super) sha: String,
}

const NUMBERS: &str = include_str!("lua/numbers.lua");
const AMOUNTS: &str = include_str!("lua/amounts.lua");
const SIGNED: &str = include_str!("lua/signed.lua");
const DECAY: &str = include_str!("lua/decay.lua");
const PRODUCT: &str = include_str!("lua/product.lua");
const CLOCK: &str = include_str!("lua/clock.lua");
const GIVEN: &str = include_str!("lua/given.lua");
const STORE: &str = include_str!("lua/store.lua");
const ONE: &str = include_str!("lua/one.lua");
const SEVERAL: &str = include_str!("lua/several.lua");
const ALL: &str = include_str!("lua/all.lua");

/// All algorithms, in the order of their numbers in `all.lua`.
pub(super) const FORMS: [Form; 10] = [
    Form::Bucket,
    Form::Window,
    Form::Counter,
    Form::Blocks,
    Form::Exim,
    Form::Earrrl,
    Form::Adaptive,
    Form::Nginx,
    Form::Haproxy,
    Form::Envoy,
];

/// The number of an algorithm in `all.lua`.
pub(super) fn number(form: Form) -> u8 {
    FORMS.iter().position(|known| *known == form).map_or(0, |at| at as u8 + 1)
}

/// The parts of an algorithm's file.
struct Algorithm {
    /// The name of its initial state.
    initial: String,
    needs: &'static [&'static str],
    before: &'static str,
    /// The names of its numbers.
    numbers: Vec<&'static str>,
    look: &'static str,
    keep: &'static str,
}

impl Algorithm {
    fn new(form: Form) -> Self {
        let (name, text, needs): (&str, &str, &[&str]) = match form {
            Form::Bucket => ("bucket", include_str!("lua/bucket.lua"), &[]),
            Form::Window => ("window", include_str!("lua/window.lua"), &[NUMBERS, AMOUNTS, SIGNED]),
            Form::Counter => {
                ("counter", include_str!("lua/counter.lua"), &[NUMBERS, AMOUNTS, PRODUCT])
            }
            Form::Blocks => ("blocks", include_str!("lua/blocks.lua"), &[NUMBERS, AMOUNTS, SIGNED]),
            Form::Exim => ("exim", include_str!("lua/exim.lua"), &[DECAY]),
            Form::Earrrl => ("earrrl", include_str!("lua/earrrl.lua"), &[DECAY]),
            Form::Adaptive => ("adaptive", include_str!("lua/adaptive.lua"), &[DECAY]),
            Form::Nginx => ("nginx", include_str!("lua/nginx.lua"), &[NUMBERS, SIGNED]),
            Form::Haproxy => ("haproxy", include_str!("lua/haproxy.lua"), &[NUMBERS, SIGNED]),
            Form::Envoy => ("envoy", include_str!("lua/envoy.lua"), &[]),
        };
        let (before, rest) = text.split_once("--- numbers: ").unwrap_or((text, ""));
        let (names, rest) = rest.split_once('\n').unwrap_or((rest, ""));
        let (look, keep) = rest.split_once("--- keep\n").unwrap_or((rest, ""));
        let numbers = names.split(' ').collect();
        Algorithm { initial: name.to_uppercase(), needs, before, numbers, look, keep }
    }

    /// The line that reads the cost and the numbers out of `from`, and assigns them with `more`.
    fn read(&self, from: &str, more: &str) -> String {
        let names = self.numbers.join(", ");
        let format = "d".repeat(self.numbers.len() + 1);
        format!("local w, {names}{more} = unpack('<{format}', {from})\n")
    }
}

impl Algorithm {
    /// Both parts with `_n` after each of their names, so that several algorithms fit into one frame.
    fn numbered(&self, n: usize) -> [String; 2] {
        const OWN: [&str; 7] = ["w", "passes", "level", "extra", "counted", "bytes", "life"];
        let declared =
            [self.look, self.keep].into_iter().flat_map(|text| text.split("local ").skip(1));
        let declared = declared.flat_map(|text| {
            let end = text.find(['=', '\n']).unwrap_or(text.len());
            text.get(..end).unwrap_or("").split(',').map(str::trim)
        });
        let own: HashSet<&str> = declared.chain(OWN).chain(self.numbers.iter().copied()).collect();
        [self.look, self.keep].map(|text| {
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

/// The count of the numbers that an algorithm is given, as its file names them.
pub(super) fn numbers(form: Form) -> usize {
    match form {
        Form::Window | Form::Counter | Form::Envoy => 2,
        Form::Earrrl | Form::Nginx | Form::Haproxy => 3,
        Form::Bucket | Form::Blocks | Form::Exim => 4,
        Form::Adaptive => 5,
    }
}

/// Functions of Redis and Lua that scripts use, by short names. Lua finds locals faster.
const LOCALS: [(&str, &str); 9] = [
    ("call", "redis.call"),
    ("pack", "struct.pack"),
    ("unpack", "struct.unpack"),
    ("byte", "string.byte"),
    ("char", "string.char"),
    ("sub", "string.sub"),
    ("floor", "math.floor"),
    ("ceil", "math.ceil"),
    ("log", "math.log"),
];

impl Script {
    fn new(body: &str) -> Self {
        let used = |(name, _): &&(&str, &str)| body.contains(&format!("{name}("));
        let used: Vec<_> = LOCALS.iter().filter(used).collect();
        let names: Vec<_> = used.iter().map(|(name, _)| *name).collect();
        let values: Vec<_> = used.iter().map(|(_, value)| *value).collect();
        let text = format!("local {} = {}\n{body}", names.join(", "), values.join(", "));
        let sha = Sha1::from(&text).digest().to_string();
        Script { text, sha }
    }

    /// The script for one limit at one key. The time is that of Redis, unless it `is_given`.
    pub(super) fn one(form: Form, is_given: bool) -> Self {
        let algorithm = Algorithm::new(form);
        let frame = ONE
            .replace("INITIAL", &algorithm.initial)
            .replace("--- look\n", algorithm.look)
            .replace("  --- keep\n", algorithm.keep)
            .replace("    --- store\n", STORE);
        let read = algorithm.read("ARGV[1]", "");
        Script::new(&(parts(&[algorithm], is_given) + &read + &frame))
    }

    /// The script for a few limits at one key, all in force, by these algorithms in this order.
    pub(super) fn several(forms: &[Form], is_given: bool) -> Self {
        let algorithms: Vec<Algorithm> = forms.iter().map(|form| Algorithm::new(*form)).collect();
        let numbered = || algorithms.iter().zip(1..);
        let (mut names, mut looks, mut keeps) = (Vec::new(), String::new(), String::new());
        for (algorithm, n) in numbered() {
            let own = |name: &&str| format!("{name}_{n}");
            names.push(own(&"w"));
            names.extend(algorithm.numbers.iter().map(own));
            let [look, keep] = algorithm.numbered(n);
            looks += &format!("local from_{n} = i\n{look}local to_{n} = i - 1\n");
            keeps += &format!("local counted_{n}, bytes_{n}, life_{n} = counted\n{keep}");
        }
        let each = |form: &str, between: &str| {
            let each = numbered().map(|(_, n)| form.replace('#', &n.to_string()));
            each.collect::<Vec<_>>().join(between)
        };
        let initial: Vec<&str> = algorithms.iter().map(|a| a.initial.as_str()).collect();
        let frame = SEVERAL
            .replace("INITIAL", &initial.join(" .. "))
            .replace("--- look\n", &looks)
            .replace("  --- keep\n", &keeps)
            .replace("    --- store\n", STORE)
            .replace("PASSES", &each("passes_#", " and "))
            .replace("CHANGED", &each("bytes_#", " or "))
            .replace("BYTES", &each("(bytes_# or sub(s, from_#, to_#))", " .. "))
            .replace("LIVES", &each("life_#", ", "))
            .replace("FORMAT", &format!("<{}", each("Bdd", "")))
            .replace("OUTCOMES", &each("passes_# and 1 or 0, level_#, extra_#", ", "));
        let format = "d".repeat(names.len());
        let read = format!("local {} = unpack('<{format}', ARGV[1])\n", names.join(", "));
        Script::new(&(parts(&algorithms, is_given) + &read + &frame))
    }

    /// The script for any limits by these algorithms.
    pub(super) fn all(forms: &[Form], is_given: bool) -> Self {
        Script::new(&(looks(forms, is_given) + ALL))
    }
}

/// The algorithms as functions in a table, by their numbers.
fn looks(forms: &[Form], is_given: bool) -> String {
    let algorithms: Vec<Algorithm> = forms.iter().map(|form| Algorithm::new(*form)).collect();
    let store = format!("local function store(key, bytes, life)\n{STORE}end\n");
    let mut text = parts(&algorithms, is_given) + &store + "local look, initial = {}, {}\n";
    for (form, algorithm) in forms.iter().zip(&algorithms) {
        let Algorithm { initial, look, keep, .. } = algorithm;
        let n = number(*form);
        let read = algorithm.read("args_, at_", ", next_");
        text += &format!(
            "initial[{n}] = {initial}\nlook[{n}] = function(args_, at_, s, i)\n{read}{look}\
                 return next_, i, passes, level, extra, function(counted)\nlocal bytes, life\n\
                 {keep}return bytes, life\nend\nend\n"
        );
    }
    text
}

/// The functions that these algorithms need, each once, and the line that takes the time.
fn parts(algorithms: &[Algorithm], is_given: bool) -> String {
    let mut parts = Vec::new();
    for algorithm in algorithms {
        for part in algorithm.needs.iter().copied().chain([algorithm.before]) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts.push(if is_given { GIVEN } else { CLOCK });
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_name_their_numbers() {
        for form in FORMS {
            let algorithm = Algorithm::new(form);
            assert_eq!(algorithm.numbers.len(), numbers(form), "{form:?}");
            assert!(!algorithm.look.is_empty() && !algorithm.keep.is_empty(), "{form:?}");
            assert_eq!(FORMS[usize::from(number(form)) - 1], form);
        }
    }

    #[test]
    fn no_mark_is_left_in_a_script() {
        for form in FORMS {
            for is_given in [true, false] {
                for script in [
                    Script::one(form, is_given),
                    Script::several(&[form, Form::Window, form], is_given),
                    Script::all(&[form], is_given),
                ] {
                    assert!(!script.text.contains("---"), "{}", script.text);
                    assert_eq!(script.sha.len(), 40);
                }
            }
        }
    }

    #[test]
    fn names_get_numbers_and_nothing_else_does() {
        let [look, keep] = Algorithm::new(Form::Window).numbered(7);
        assert!(look.contains("local number_7 = floor(now / period_7)"), "{look}");
        assert!(keep.contains("bytes_7 = content_7 > 0 and put_signed(number_7)"), "{keep}");
    }
}
