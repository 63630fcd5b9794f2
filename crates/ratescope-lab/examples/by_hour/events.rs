//! Events, and the table of those that limiters refuse.

use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::{Limiter, ParseError, Span, Time};
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

/// A mail or a request.
pub(super) struct Event<K> {
    pub(super) at: Time,
    pub(super) from: K,
    /// It is spam, or of an attack.
    pub(super) unwanted: bool,
}

/// The begin of a day.
pub(super) fn day(day: u32) -> Time {
    Time::ZERO.after(Span::from_hours(24 * u64::from(day)))
}

/// Before 7 and from 19 on.
fn is_night(at: Time) -> bool {
    let hour = at.as_secs_f64().rem_euclid(86_400.0) / 3600.0;
    !(7.0..19.0).contains(&hour)
}

/// Tells whether an event counts in a column, when those from an instant on are judged.
type Counts<K> = fn(Time, &Event<K>) -> bool;

/// The result of each of the limiters, in turn, on the events from `judged` on, in Markdown. Columns
/// without an event are left out.
pub(super) fn table<K: Copy + Eq + Hash>(
    limiters: &[&str],
    events: &[Event<K>],
    judged: Time,
) -> Result<String, ParseError> {
    let columns: [(&str, Counts<K>); 4] = [
        ("refused while learning, of", |judged, e| !e.unwanted && e.at < judged),
        ("refused by day, of", |judged, e| !e.unwanted && e.at >= judged && !is_night(e.at)),
        ("by night, of", |judged, e| !e.unwanted && e.at >= judged && is_night(e.at)),
        ("unwanted passed, of", |judged, e| e.unwanted && e.at >= judged),
    ];
    let senders = |events: &mut dyn Iterator<Item = &Event<K>>| -> usize {
        let honest = events.filter(|e| !e.unwanted && e.at >= judged);
        honest.map(|e| e.from).collect::<HashSet<K>>().len()
    };
    let of = columns.map(|(_, is)| events.iter().filter(|e| is(judged, e)).count());
    let (mut head, mut line) = ("| limiter |".to_owned(), "|---|".to_owned());
    let shown = || columns.iter().zip(of).enumerate().filter(|(_, (_, of))| *of > 0);
    for (i, ((name, _), of)) in shown() {
        head += &format!(" {name} {of} |");
        line += "--:|";
        if i == 2 {
            head += &format!(" senders touched, of {} |", senders(&mut events.iter()));
            line += "--:|";
        }
    }
    let mut table = format!("{head}\n{line}\n");
    for text in limiters {
        let refused = refused(&text.parse()?, events);
        table += &format!("| `{text}` |");
        for (i, ((_, is), of)) in shown() {
            let count = refused.iter().filter(|e| is(judged, e)).count();
            table += &format!(" {} |", if i == 3 { of - count } else { count });
            if i == 2 {
                table += &format!(" {} |", senders(&mut refused.iter().copied()));
            }
        }
        table += "\n";
    }
    Ok(table)
}

/// The events that the limiter refuses.
fn refused<'a, K: Copy + Eq + Hash>(
    limiter: &AnyLimiter,
    events: &'a [Event<K>],
) -> Vec<&'a Event<K>> {
    let mut states: HashMap<K, AnyState> = HashMap::new();
    let mut passes = |event: &Event<K>| {
        let state = states.entry(event.from).or_insert_with(|| limiter.initial());
        limiter.check(state, event.at, 1.0).is_allowed()
    };
    events.iter().filter(|event| !passes(event)).collect()
}
