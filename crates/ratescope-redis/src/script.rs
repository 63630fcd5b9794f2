//! Builds scripts.
//!
//! All limits are asked before anything is written. So a limit looks at its state, asks the limits after it, and then
//! changes its state. For a few limits, the text of each has the next limit in its middle, in a block of its own, so
//! that their names do not collide. For other lists of limits, each algorithm is a function: a script for every such
//! list would be too many. Such a script makes functions and tables at each call, which took Redis 16 to 72 % longer
//! for one limit.

use super::Few;
use super::algorithm::{self, LuaAlgorithm};
use sha1_smol::Sha1;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

/// A script, and the SHA-1 by which Redis knows it.
#[derive(Debug)]
pub(super) struct Script {
    pub(super) text: String,
    pub(super) sha: String,
}

/// The purpose of a script.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Purpose {
    /// True if the time is given; otherwise it is that of Redis.
    pub(super) is_given: bool,
    pub(super) leases: Leases,
    pub(super) limits: Limits,
}

/// The additional work of a script for [leases](ratescope::share).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub(super) enum Leases {
    #[default]
    None,
    /// Lends the counted events, if it may.
    Lend,
    /// Gives back only events that are known to be lent.
    TakeBack,
}

impl Leases {
    /// The text before the limits, and the end of the script.
    fn around(self) -> [&'static str; 2] {
        match self {
            Leases::None => ["", END],
            Leases::Lend => [include_str!("lua/lend.lua"), include_str!("lua/lent.lua")],
            Leases::TakeBack => [include_str!("lua/take_back.lua"), END],
        }
    }
}

/// The limits that a script decides about.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) enum Limits {
    /// A few that are all in force: their algorithms, by key.
    Few(Few<Few<&'static LuaAlgorithm>>),
    /// Any limits of these algorithms, each once.
    Any {
        algorithms: Few<&'static LuaAlgorithm>,
        /// True if a cost is given back to any key.
        gives_back: bool,
    },
}

/// The limits of a script that stands alone, by key.
pub(super) struct Alone {
    pub(super) keys: Vec<Vec<AloneLimit>>,
}

/// A limit of a script that stands alone.
pub(super) struct AloneLimit {
    pub(super) algorithm: &'static LuaAlgorithm,
    pub(super) numbers: Vec<f64>,
    /// It takes a cost in millionths.
    pub(super) counts: bool,
    /// An event that passes may have to wait.
    pub(super) delays: bool,
    pub(super) bound: f64,
    /// Its index in the policy.
    pub(super) place: usize,
}

/// The most limits that get a script of their own: a Lua function has at most 200 local variables.
pub(super) const A_FEW: usize = 4;

/// The most scripts for certain algorithms. Further limits use one script for all algorithms.
const MOST: usize = 200;

static MADE: LazyLock<Mutex<HashMap<Purpose, Arc<Script>>>> = LazyLock::new(Mutex::default);

/// Functions that algorithms use. Each file may use those before it.
const PARTS: [&str; 6] = [
    include_str!("lua/numbers.lua"),
    include_str!("lua/amounts.lua"),
    include_str!("lua/signed.lua"),
    include_str!("lua/product.lua"),
    include_str!("lua/decay.lua"),
    include_str!("lua/smoothed.lua"),
];

const CLOCK: &str = include_str!("lua/clock.lua");
const GIVEN: &str = include_str!("lua/given.lua");
const STORE: &str = include_str!("lua/store.lua");
const STORE_RING: &str = include_str!("lua/store_ring.lua");
const BEGIN: &str = include_str!("lua/begin.lua");
const ANY: &str = include_str!("lua/any.lua");
const KEYS: &str = include_str!("lua/keys.lua");
const GIVE_BACK: &str = include_str!("lua/give_back.lua");
const ALONE_BEGIN: &str = include_str!("lua/alone_begin.lua");
const ALONE_END: &str = include_str!("lua/alone_end.lua");
const END: &str = include_str!("lua/end.lua");

/// Functions of Redis and Lua that scripts use, with short names. Lua finds locals faster.
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
    /// The script for a purpose. `None` if there are too many already, unless it is for all algorithms.
    pub(super) fn for_purpose(purpose: &Purpose) -> Option<Arc<Self>> {
        let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(script) = made.get(purpose) {
            return Some(Arc::clone(script));
        }
        let script = match &purpose.limits {
            Limits::Few(_) if made.len() >= MOST => return None,
            Limits::Few(keys) => Script::few(keys, purpose),
            Limits::Any { algorithms, gives_back } => {
                if made.len() >= MOST && algorithms.len() < algorithm::all().len() {
                    return None;
                }
                Script::any(algorithms, *gives_back, purpose)
            }
        };
        let script = Arc::new(script);
        made.insert(purpose.clone(), Arc::clone(&script));
        Some(script)
    }

    /// Removes keys, and returns how many there were.
    pub(super) fn reset() -> Self {
        Script::new("return tostring(redis.call('UNLINK', unpack(KEYS)))".to_owned())
    }

    /// Removes keys, of which only so many at the beginning are counted.
    pub(super) fn reset_with_leases() -> Self {
        let text = "local own = tonumber(ARGV[1])\nlocal removed = redis.call('UNLINK', unpack(KEYS, 1, own))\n\
                    redis.call('UNLINK', unpack(KEYS, own + 1))\nreturn tostring(removed)";
        Script::new(text.to_owned())
    }

    pub(super) fn new(text: String) -> Self {
        let sha = Sha1::from(&text).digest().to_string();
        Script { text, sha }
    }

    fn framed(algorithms: &[&LuaAlgorithm], purpose: &Purpose, body: &str) -> Self {
        let functions = functions(algorithms, purpose.is_given);
        let [before, end] = purpose.leases.around();
        Script::new(Script::with_locals(&[&functions, BEGIN, before, body, end].concat()))
    }

    /// A script for a few limits, all in force. The text of each contains that of the next.
    fn few(keys: &[Few<&LuaAlgorithm>], purpose: &Purpose) -> Self {
        let mut text = String::new();
        for (i, key) in keys.iter().enumerate().rev() {
            let n = i + 1;
            for algorithm in key.iter().rev() {
                let body = few_body(algorithm, &algorithm.arguments(), &text);
                text = format!(
                    "do\n{body}reply_ = pack('<Bdd', passes and 1 or 0, level, extra) .. reply_\nend\n"
                );
            }
            text = at_key(n, key, &text, told);
        }
        Script::framed(&keys.concat(), purpose, &format!("local next_ = 1\n{text}"))
    }

    /// The text of a script for a few limits that has their numbers in it, and an answer for people.
    pub(super) fn alone(alone: &Alone) -> String {
        let mut text = String::new();
        for (i, key) in alone.keys.iter().enumerate().rev() {
            for AloneLimit { algorithm, numbers, counts, delays, bound, place } in key.iter().rev()
            {
                let names = algorithm.numbers.join(", ");
                let values: Vec<String> = numbers.iter().map(f64::to_string).collect();
                let cost = if *counts { "millionths_" } else { "cost_" };
                let arguments = format!("local w, {names} = {cost}, {}\n", values.join(", "));
                let body = few_body(algorithm, &arguments, &text);
                let place = place + 1;
                // The limit of an adaptive one moves.
                let bound = if algorithm.finds_its_limit() {
                    "extra".to_owned()
                } else {
                    bound.to_string()
                };
                let waits = if *delays {
                    "if extra > wait_ * 1000000 then wait_ = extra / 1000000 end\n"
                } else {
                    ""
                };
                text = format!(
                    "do\n{body}levels_[{place}], bounds_[{place}] = level, {bound}\n{waits}end\n"
                );
            }
            let algorithms: Few<_> = key.iter().map(|limit| limit.algorithm).collect();
            text = at_key(i + 1, &algorithms, &text, |_| String::new());
        }
        let algorithms: Vec<_> = alone.keys.iter().flatten().map(|limit| limit.algorithm).collect();
        let count = alone.keys.len();
        let check = format!(
            "if #KEYS ~= {count} then return redis.error_reply('ERR the number of keys is not {count}') end\n"
        );
        Script::with_locals(
            &[&functions(&algorithms, false), &check, ALONE_BEGIN, &text, ALONE_END].concat(),
        )
    }

    fn with_locals(body: &str) -> String {
        let used = |(name, _): &&(&str, &str)| body.contains(&format!("{name}("));
        let used: Vec<_> = LOCALS.iter().filter(used).collect();
        let names: Vec<_> = used.iter().map(|(name, _)| *name).collect();
        let values: Vec<_> = used.iter().map(|(_, value)| *value).collect();
        format!("local {} = {}\n{body}", names.join(", "), values.join(", "))
    }

    /// Any limits by these algorithms.
    fn any(algorithms: &[&LuaAlgorithm], gives_back: bool, purpose: &Purpose) -> Self {
        let mut text = ANY.to_owned();
        for (algorithm, n) in algorithms.iter().zip(1..) {
            let body = body(
                algorithm,
                &algorithm.arguments(),
                "note_(flag_, rule_, event_, passes, level, extra)\n",
                "local bytes_, life_, changed_ = '', 0, false\nif left_ > 0 then\n\
                 bytes_, life_, changed_ = ask_(key, found_ and s, i, next_, left_, n_)\n\
                 else\nkey_(n_ + 1, next_)\nend\n",
                "judge_(flag_, rule_, event_, passes)",
            );
            let initial = &algorithm.initial;
            text += &format!(
                "asks_[{n}] = function(key, s, i, next_, flag_, rule_, event_, left_, n_)\nlocal found_ = s\n\
                 if not s then s, i = {initial}, 1 end\n{body}return bytes_, life_, changed_\nend\n"
            );
            if gives_back {
                text += &undo(algorithm, n);
            }
        }
        text += &KEYS.replace("    --- store\n", STORE);
        if gives_back {
            text += GIVE_BACK;
        }
        text += "reply_, states_ = table.concat(said_), table.concat(told_)\n";
        Script::framed(algorithms, purpose, &text)
    }
}

/// The Lua of one limit, which looks, `notes` its answer, asks `those_after` it, and changes its state. `these` receives
/// two values: whether it may change, and whether the event counts as allowed.
fn body(
    algorithm: &LuaAlgorithm,
    arguments: &str,
    notes: &str,
    those_after: &str,
    these: &str,
) -> String {
    let LuaAlgorithm { read, look, keep, .. } = algorithm;
    let kept = match algorithm.tell {
        None => format!(
            "if keeps_ then\n{keep}if bytes then changed_ = true else bytes = sub(s, from_, to_) end\n\
             bytes_ = bytes .. bytes_\nif life > life_ then life_ = life end\nend\n"
        ),
        Some(tell) => format!(
            "local fresh = false\nif keeps_ then\n{keep}if bytes then\n{STORE_RING}end\nend\n\
             if tells_ then\nlocal told\n{tell}bytes_ = told\nend\n"
        ),
    };
    format!(
        "{arguments}local from_ = i\n{read}{look}local to_ = i - 1\n{notes}{those_after}\
         local keeps_, counted, bytes, life = {these}\n{kept}"
    )
}

/// The Lua of one of a few limits.
fn few_body(algorithm: &LuaAlgorithm, arguments: &str, those_after: &str) -> String {
    let notes = "if not passes then allowed_ = false end\n";
    body(algorithm, arguments, notes, those_after, "not looks_, charges_ or allowed_")
}

/// The Lua for the `n`-th key of a script for a few limits, around that of its limits.
fn at_key(
    n: usize,
    algorithms: &[&LuaAlgorithm],
    limits: &str,
    told: impl Fn(&str) -> String,
) -> String {
    let initial: Vec<&str> = algorithms.iter().map(|one| one.initial.as_str()).collect();
    let initial = initial.join(" .. ");
    if algorithms.iter().any(|algorithm| algorithm.is_ring()) {
        let told = told("bytes_");
        format!(
            "do\nlocal key = KEYS[{n}]\nlocal s, i, bytes_ = call('GETRANGE', key, 0, 71), 1\n\
             if s == '' then s = {initial} end\n{limits}\
             {told}end\n"
        )
    } else {
        let told = told("found_");
        format!(
            "do\nlocal key = KEYS[{n}]\nlocal found_ = call('GET', key)\n\
             local s, i = found_ or {initial}, 1\nlocal bytes_, life_, changed_ = '', 0, false\n{limits}\
             if changed_ then\nlocal bytes, life = bytes_, life_\n{STORE}found_ = bytes\nend\n\
             {told}end\n"
        )
    }
}

/// The text that returns the value of a key.
fn told(value: &str) -> String {
    format!(
        "if tells_ then states_ = ({value} and pack('<BI4', 1, #{value}) .. {value} or '\\0') .. states_ end\n"
    )
}

/// The function that gives back; it does nothing for an algorithm that can't, or for a cost that can't be counted.
fn undo(algorithm: &LuaAlgorithm, n: usize) -> String {
    let LuaAlgorithm { initial, read, .. } = algorithm;
    // Without that part, everything that it reads is in the other.
    let (read, undo) = match algorithm.undo {
        Some(undo) => (*read, undo),
        None => (algorithm.look, ""),
    };
    let arguments = algorithm.arguments();
    let end = match algorithm.tell {
        None => "return next_, i, bytes or sub(s, from_, to_)\n".to_owned(),
        Some(tell) => format!(
            "if bytes and gives then call('SETRANGE', key, 0, bytes) end\nw = 0\nlocal told\n{tell}\
             return next_, i, told or ''\n"
        ),
    };
    format!(
        "gives_back_[{n}] = function(key, s, i, next_, gives)\nif not s then s, i = {initial}, 1 end\n\
         local when\nwhen, next_ = unpack('<d', args_, next_)\n\
         {arguments}if w ~= w or not gives then w = 0 end\nlocal from_ = i\n{read}local to_ = i - 1\n\
         local bytes\n{undo}{end}end\n"
    )
}

/// The functions that these algorithms need, each once, and the line that takes the time.
fn functions(algorithms: &[&LuaAlgorithm], is_given: bool) -> String {
    let mut own: Vec<&str> = algorithms.iter().map(|algorithm| algorithm.before).collect();
    own.sort_unstable();
    own.dedup();
    let mut used: String = algorithms.iter().flat_map(|algorithm| algorithm.texts()).collect();
    let mut parts = vec![if is_given { GIVEN } else { CLOCK }];
    parts.extend(own);
    for part in PARTS.into_iter().rev() {
        if names(part).any(|name| used.contains(&format!("{name}("))) {
            used += part;
            parts.push(part);
        }
    }
    parts.reverse();
    parts.concat()
}

/// The names of the functions in a text.
fn names(text: &str) -> impl Iterator<Item = &str> {
    text.split("local function ").skip(1).filter_map(|text| text.split('(').next())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::collections::HashSet;

    #[test]
    fn no_mark_is_left_in_a_script() {
        for algorithm in algorithm::all() {
            for is_given in [false, true] {
                let algorithms = Few::from_slice(&[algorithm]);
                for limits in [
                    Limits::Few(Few::from_iter([algorithms.clone()])),
                    Limits::Any { algorithms: algorithms.clone(), gives_back: false },
                    Limits::Any { algorithms, gives_back: true },
                ] {
                    let leases = Leases::default();
                    let purpose = Purpose { is_given, leases, limits };
                    let script = Script::for_purpose(&purpose).unwrap();
                    assert!(!script.text.contains("---"), "{}", script.text);
                    assert_eq!(script.sha.len(), 40);
                }
            }
        }
    }

    /// In a script for a few limits, each sees the names of those before it.
    #[test]
    fn no_algorithm_hides_a_function_of_another() {
        let befores: String = algorithm::all().iter().map(|algorithm| algorithm.before).collect();
        let locals = LOCALS.iter().map(|(name, _)| *name);
        let all_parts = PARTS.concat() + &befores;
        let known: HashSet<&str> = names(&all_parts).chain(locals).collect();
        for algorithm in algorithm::all() {
            let text = [algorithm.read, algorithm.look].concat();
            // Within a block, a name is not seen by others.
            for line in text.lines().filter_map(|line| line.strip_prefix("local ")) {
                let declared = line.split('=').next().unwrap().split(',').map(str::trim);
                for name in declared {
                    assert!(!known.contains(name), "{}: {name}", algorithm.name);
                }
            }
        }
    }
}
