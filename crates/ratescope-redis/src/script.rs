//! Builds scripts out of a frame and the algorithms in it.
//!
//! For one limit, or a few at one key, the parts of the algorithms are put into the frame one after the
//! other. For any limits at several keys, the look is a function that returns the change as another function.

use super::algorithm::LuaAlgorithm;
use sha1_smol::Sha1;

/// A script, and the SHA-1 by which Redis knows it.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) text: String,
    pub(super) sha: String,
}

/// Functions that algorithms use. Each file may use those before it.
const PARTS: [&str; 5] = [
    include_str!("lua/numbers.lua"),
    include_str!("lua/amounts.lua"),
    include_str!("lua/signed.lua"),
    include_str!("lua/product.lua"),
    include_str!("lua/decay.lua"),
];

const CLOCK: &str = include_str!("lua/clock.lua");
const GIVEN: &str = include_str!("lua/given.lua");
const STORE: &str = include_str!("lua/store.lua");
const SEVERAL: &str = include_str!("lua/several.lua");
const ALL: &str = include_str!("lua/all.lua");
const UNDO: &str = include_str!("lua/undo.lua");

/// A cost that can't be counted gives nothing back.
const NOTHING: &str = "if w ~= w then w = 0 end\n";

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
    /// Removes a key, and returns how many there were.
    pub(super) fn reset() -> Self {
        Script::new("return tostring(call('UNLINK', KEYS[1]))")
    }

    fn new(body: &str) -> Self {
        let used = |(name, _): &&(&str, &str)| body.contains(&format!("{name}("));
        let used: Vec<_> = LOCALS.iter().filter(used).collect();
        let names: Vec<_> = used.iter().map(|(name, _)| *name).collect();
        let values: Vec<_> = used.iter().map(|(_, value)| *value).collect();
        let text = format!("local {} = {}\n{body}", names.join(", "), values.join(", "));
        let sha = Sha1::from(&text).digest().to_string();
        Script { text, sha }
    }

    /// The script for one limit at one key, or for a few that are all in force, by these algorithms in this
    /// order. The time is that of Redis, unless it `is_given`.
    pub(super) fn several(algorithms: &[&LuaAlgorithm], is_given: bool) -> Self {
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
        Script::new(&(parts(algorithms, is_given) + &read + &frame))
    }

    /// The script that gives back costs to limits by these algorithms. It leaves out those that can't.
    pub(super) fn undo(algorithms: &[&LuaAlgorithm], is_given: bool) -> Self {
        let mut text = parts(algorithms, is_given) + "local undo, initial = {}, {}\n";
        for (n, algorithm) in (1..).zip(algorithms) {
            let (initial, read) = (&algorithm.initial, algorithm.read("args_, at_", ", next_"));
            let Some(undo) = &algorithm.undo else { continue };
            text += &format!(
                "initial[{n}] = {initial}\nundo[{n}] = function(args_, at_, s, i)\n{read}{NOTHING}local bytes\n\
                     {undo}return next_, i, bytes\nend\n"
            );
        }
        Script::new(&(text + UNDO))
    }

    /// The script for limits by these algorithms, which are numbered from 1 in this order.
    pub(super) fn all(algorithms: &[&LuaAlgorithm], is_given: bool) -> Self {
        Script::new(&(looks(algorithms, is_given) + ALL))
    }
}

/// Algorithms as functions, by their numbers.
fn looks(algorithms: &[&LuaAlgorithm], is_given: bool) -> String {
    let store = format!("local function store(key, bytes, life)\n{STORE}end\n");
    let mut text = parts(algorithms, is_given) + &store + "local look, initial = {}, {}\n";
    for (n, algorithm) in (1..).zip(algorithms) {
        let LuaAlgorithm { initial, look, keep, .. } = *algorithm;
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
fn parts(algorithms: &[&LuaAlgorithm], is_given: bool) -> String {
    let mut own: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.before).collect();
    own.sort_unstable();
    own.dedup();
    let texts = |algorithm: &&LuaAlgorithm| {
        let undo = algorithm.undo.as_deref().unwrap_or_default();
        [&*algorithm.look, algorithm.keep, undo].concat()
    };
    let mut used: String = own.concat() + &algorithms.iter().map(texts).collect::<String>();
    let mut parts = vec![if is_given { GIVEN } else { CLOCK }];
    parts.extend(own);
    for part in PARTS.into_iter().rev() {
        let names = part.split("local function ").skip(1).filter_map(|text| text.split('(').next());
        if names.into_iter().any(|name| used.contains(&format!("{name}("))) {
            used += part;
            parts.push(part);
        }
    }
    parts.reverse();
    parts.concat()
}

#[cfg(test)]
mod tests {
    use super::super::algorithm::tests::algorithm;
    use super::*;
    use ratescope::limit::FORMS;

    #[test]
    fn no_mark_is_left_in_a_script() {
        let plain = algorithm("1/1s");
        for form in FORMS {
            let own = algorithm(form.example);
            for is_given in [true, false] {
                for script in [
                    Script::several(&[&own], is_given),
                    Script::several(&[&own, &plain, &own], is_given),
                    Script::all(&[&own], is_given),
                    Script::undo(&[&own], is_given),
                ] {
                    assert!(!script.text.contains("---"), "{}", script.text);
                    assert_eq!(script.sha.len(), 40);
                }
            }
        }
    }
}
