//! The scripts: a frame, and the algorithms in it.
//!
//! A file of an algorithm has three parts: what it needs, from `--- numbers:` on how it looks at a
//! state, and from `--- keep` on how it changes it. Where there is one limit they stand in the frame
//! as they are, one after the other; where there are several, each is a function that returns
//! another.

use crate::limit::in_f64::Form;
use sha1_smol::Sha1;

/// A script and the name under which Redis knows it.
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

/// An algorithm, out of its file.
struct Algorithm {
    /// What its initial state is called.
    initial: String,
    needs: &'static [&'static str],
    before: &'static str,
    /// What its numbers are called.
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

    /// Reads the cost and the numbers: from where, and into which names.
    fn read(&self, from: &str, more: &str) -> String {
        let names = self.numbers.join(", ");
        let format = "d".repeat(self.numbers.len() + 1);
        format!("local w, {names}{more} = unpack('<{format}', {from})\n")
    }
}

/// How many numbers an algorithm is given.
pub(super) fn numbers(form: Form) -> usize {
    Algorithm::new(form).numbers.len()
}

/// What Redis and Lua have and scripts use, by short names: they are found faster.
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

    /// For one limit at one key. The time is that of Redis, or given.
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

    /// For several limits by these algorithms, all of them in force and at one key.
    pub(super) fn several(forms: &[Form], is_given: bool) -> Self {
        Script::new(&(looks(forms, is_given) + SEVERAL))
    }

    /// For any limits by these algorithms.
    pub(super) fn all(forms: &[Form], is_given: bool) -> Self {
        Script::new(&(looks(forms, is_given) + ALL))
    }
}

/// Algorithms as functions, by their numbers.
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

/// What these algorithms need, each once, and the time.
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
