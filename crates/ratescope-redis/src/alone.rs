//! Scripts that stand alone, for programs in other languages, and the states that they keep.

use super::options::Options;
use super::plan::{Item, Plan};
use super::reply;
use super::script::{A_FEW, Alone, AloneLimit, Script};
use core::fmt;
use ratescope::Policy;
use ratescope::limit::Limiter;
use ratescope::outcome::Outcome;
use ratescope::rules::Rules;
use ratescope::time::{Span, Time};
use std::sync::Arc;

/// Why a policy has no script, or a value no states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotAlone(String);

impl fmt::Display for NotAlone {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl core::error::Error for NotAlone {}

/// A script for Redis that decides about events by a policy of up to four limits, and needs nothing else: any client
/// can call it. It is made of the Lua by which a [`RedisStore`](crate::RedisStore) decides; the comment at its top
/// explains its keys, arguments and answer. The time is that of Redis. The command `ratescope script` prints it.
///
/// ```
/// let script = ratescope_redis::stand_alone(&"earrrl 5/10s half-life 10s per user".parse()?)?;
/// assert!(script.contains("-- KEYS[1]"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When the policy has more than four limits, or one that Redis can't compute.
pub fn stand_alone(policy: &Policy) -> Result<String, NotAlone> {
    let plan = planned(policy)?;
    let keys: Vec<&[Item]> = plan.keys().collect();
    let items = || keys.iter().flat_map(|items| items.iter());
    if items().count() > A_FEW {
        return Err(NotAlone(format!("a script alone has at most {A_FEW} limits")));
    }
    let limits: String = policy
        .limits()
        .iter()
        .zip(1..)
        .map(|(limit, n)| format!("  limit {n}: {limit}\n"))
        .collect();
    let comment = format!(
        "Decides about an event: all limits let it pass, or it counts in none of them.\n\n{limits}\n{}\
         {ARGUMENTS}\nMade by ratescope {}. To change a limit, print the script again.\n",
        keys_said(policy, &keys),
        env!("CARGO_PKG_VERSION")
    );
    let comment: String =
        comment.lines().map(|line| format!("-- {line}").trim_end().to_owned() + "\n").collect();
    let of = |item: &Item| {
        let numbers = item.in_f64.numbers.iter().take(item.algorithm.numbers.len());
        AloneLimit {
            algorithm: item.algorithm,
            numbers: numbers.copied().collect(),
            counts: item.in_f64.lua.counts,
            delays: item.limiter.decides().delays(),
            bound: item.bound,
            place: item.place,
        }
    };
    let alone = Alone { keys: keys.iter().map(|items| items.iter().map(of).collect()).collect() };
    Ok(comment + &Script::alone(&alone))
}

/// The part of each script's comment about its arguments and its answer.
const ARGUMENTS: &str = "\
ARGV[1]  the cost of the event, from 0 to 1e12; 1 by default
ARGV[2]  peek: the event is only asked about and not counted

Returns a list: 1 if the event passes or else 0; the seconds that it has to wait in a
queue, as a text; and for each limit two texts: its level with the event, and its bound.
The time is that of Redis. A key expires when its states have no effect any more; one of
EARRRL or of Exim's strict mode never does, and is for an LRU policy to evict.
";

/// A line for each key: which limits have their states there, and how it may be named.
fn keys_said(policy: &Policy, keys: &[&[Item]]) -> String {
    let mut said = String::new();
    for (items, n) in keys.iter().zip(1..) {
        let own = items.iter().filter_map(|item| policy.limits().get(item.place));
        let per = own.map(|limit| limit.per.fields()).next().unwrap_or_default();
        let fields: Vec<String> = per.iter().map(|name| format!("{name}=...")).collect();
        let subject = if fields.is_empty() { "all".to_owned() } else { fields.join(",") };
        let places: Vec<String> = items.iter().map(|item| (item.place + 1).to_string()).collect();
        let word = if places.len() == 1 { "limit" } else { "limits" };
        let (of, name) = (places.join(", "), places.join("-"));
        said += &format!(
            "KEYS[{n}]  the states of {word} {of}: one string a key, such as limit:{{{subject}}}:{name}\n"
        );
    }
    if keys.len() > 1 {
        said += "On a cluster, all keys of a call need the same text in braces.\n";
    }
    said
}

/// A limit whose states are at a key.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct KeptLimit {
    /// The limit, as it is written.
    pub limit: String,
    /// The outcome that one more event would have.
    pub outcome: Outcome,
    /// How long until nothing of the state counts any more.
    pub free_after: Span,
}

/// Reads the value of a key of a [script](stand_alone), or of a [`RedisStore`](crate::RedisStore), as of `now`, and
/// explains it for each limit whose states are there. All limits of the policy share the key.
///
/// # Errors
/// When the limits share no key, when they are logs or sliding windows, whose entries are in rings, or when the value
/// has other states.
pub fn decode(policy: &Policy, value: &[u8], now: Time) -> Result<Vec<KeptLimit>, NotAlone> {
    let plan = planned(policy)?;
    let mut keys = plan.keys();
    let (Some(items), None) = (keys.next(), keys.next()) else {
        return Err(NotAlone("the limits have several keys; give those of one key".to_owned()));
    };
    if items.iter().any(|item| item.algorithm.is_ring()) {
        return Err(NotAlone(
            "a log or a sliding window is a ring of entries, which is not read here".to_owned(),
        ));
    }
    let mut rest = value;
    let mut each = Vec::new();
    for item in items {
        let state = reply::restore(item.limiter.decides(), &mut rest)
            .ok_or_else(|| NotAlone(format!("no state of {}", item.limiter.decides())))?;
        each.push(KeptLimit {
            limit: item.limiter.decides().to_string(),
            outcome: item.limiter.peek(&state, now, 1.0),
            free_after: item.limiter.reset_after(&state, now),
        });
    }
    if rest.is_empty() {
        return Ok(each);
    }
    let what = format!("{} more bytes than the states of these limits have", rest.len());
    Err(NotAlone(what))
}

fn planned(policy: &Policy) -> Result<Plan, NotAlone> {
    if let Some(problem) = policy.limits().iter().find_map(|limit| limit.not_in_f64()) {
        return Err(NotAlone(problem));
    }
    Ok(Plan::new(Arc::new(Rules::from(policy.clone())), &Options::default()))
}
