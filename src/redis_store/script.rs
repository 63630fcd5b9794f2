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

const COMMON: &str = include_str!("lua/common.lua");
const NUMBERS: &str = include_str!("lua/numbers.lua");
const SIGNED: &str = include_str!("lua/signed.lua");
const DECAY: &str = include_str!("lua/decay.lua");
const PRODUCT: &str = include_str!("lua/product.lua");
const CLOCK: &str = include_str!("lua/clock.lua");
const GIVEN: &str = include_str!("lua/given.lua");
const STORE: &str = include_str!("lua/store.lua");
const ONE: &str = include_str!("lua/one.lua");
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
            Form::Bucket => ("bucket", include_str!("lua/bucket.lua"), &[NUMBERS]),
            Form::Window => ("window", include_str!("lua/window.lua"), &[NUMBERS, SIGNED]),
            Form::Counter => ("counter", include_str!("lua/counter.lua"), &[NUMBERS, PRODUCT]),
            Form::Blocks => ("blocks", include_str!("lua/blocks.lua"), &[NUMBERS, SIGNED]),
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

impl Script {
    fn new(text: String) -> Self {
        let sha = Sha1::from(&text).digest().to_string();
        Script { text, sha }
    }

    /// For one limit at one key. The time is that of Redis, or given.
    pub(super) fn one(form: Form, is_given: bool) -> Self {
        let algorithm = Algorithm::new(form);
        let frame = ONE
            .replace("INITIAL", &algorithm.initial)
            .replace("--- look\n", algorithm.look)
            .replace("  --- keep\n", algorithm.keep);
        let read = algorithm.read("ARGV[1]", "");
        Script::new(parts(&[algorithm], is_given) + &read + &frame)
    }

    /// For any number of limits by these algorithms.
    pub(super) fn all(forms: &[Form], is_given: bool) -> Self {
        let algorithms: Vec<Algorithm> = forms.iter().map(|form| Algorithm::new(*form)).collect();
        let mut text = parts(&algorithms, is_given) + "local look, initial = {}, {}\n";
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
        Script::new(text + ALL)
    }
}

/// What all scripts begin with and what these algorithms need, each once.
fn parts(algorithms: &[Algorithm], is_given: bool) -> String {
    let mut parts = vec![COMMON];
    for algorithm in algorithms {
        for part in algorithm.needs.iter().copied().chain([algorithm.before]) {
            if !parts.contains(&part) {
                parts.push(part);
            }
        }
    }
    parts.extend([if is_given { GIVEN } else { CLOCK }, STORE]);
    parts.concat()
}
