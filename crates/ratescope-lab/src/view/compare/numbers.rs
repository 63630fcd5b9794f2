//! The readings of a lane as text, on a tag, beside the crosshair and for a screen reader.

use crate::lane::Lane;
use crate::lane::history::Column;
use crate::lane::processes::Shared;
use crate::plot::axis;
use crate::view::spaced;
use ratescope::outcome::Retry;
use ratescope::time::{Span, Time};

/// A level against its limit, as in `8.31 of 10`.
pub(in crate::view) fn level(level: f64, limit: f64) -> String {
    format!("{} of {}", short(level), short(limit))
}

/// A count, in a narrow place.
pub(super) fn count(count: u64) -> String {
    short(count as f64)
}

/// A number for a narrow place; a whole number has no decimals.
pub(in crate::view) fn short(value: f64) -> String {
    if (0.0..9999.5).contains(&value) && value == libm::floor(value) {
        return axis::readout_count(value as u64);
    }
    axis::compact(value)
}

/// The column of a lane that contains `at`, as of `now`; `None` before the lane began, and if the history has dropped
/// the column.
pub(in crate::view) fn column(now: Time, lane: &Lane, at: Time) -> Option<&Column> {
    // The column of the present instant may not have begun yet, so the instant before it is looked up.
    lane.history().column_at(at.min(now.before(Span::from_micros(1))))
}

/// The decisions in a column, with the reason unless `brief`; `None` without an event.
pub(in crate::view) fn verdict(column: &Column, brief: bool) -> Option<String> {
    let (_, judged) = column.judged?;
    if u64::from(column.allowed) + u64::from(column.refused) > 1 {
        let [allowed, refused] =
            [column.allowed, column.refused].map(|n| axis::readout_count(n.into()));
        return Some(match (column.allowed, column.refused) {
            (_, 0) => format!("{allowed} allowed"),
            (0, _) => format!("{refused} refused"),
            _ => format!("{allowed} allowed, {refused} refused"),
        });
    }
    let verdict = match judged.wait {
        None => "refused".to_owned(),
        Some(wait) if wait == Span::ZERO => "allowed".to_owned(),
        Some(wait) => format!("allowed in {}", axis::seconds(wait.as_secs_f64())),
    };
    // The level at which the event was judged is written only if the lane does not show it: a limiter that counts the
    // event shows that level.
    let rounding = 1e-6 * judged.limit;
    let is_level = (column.low - rounding..=column.high + rounding).contains(&judged.level);
    Some(if brief || is_level && judged.limit == column.limit {
        verdict
    } else {
        format!("{verdict}: judged at {}", level(judged.level, judged.limit))
    })
}

/// In words, the most that a lane allows in any `period`, the period of the common rate, if each event costs `cost`;
/// and the excess of several processes [over](over) that.
pub fn promise(lane: &Lane, cost: f64, period: Span) -> String {
    let most = lane.max_admitted(cost);
    // Events of cost 1 pass whole, so the bound is rounded down. The small term restores a whole number that rounding
    // put just below it. The bound of a bucket lies below a whole number by the amount that drains in a microsecond:
    // more than the small term, so the promise is one event less.
    let whole = if cost == 1.0 { libm::floor(most + 1e-9) } else { libm::round(most) };
    let most = if cost == 1.0 || (most - whole).abs() < 1e-3 { whole } else { most };
    // The bound is for one sender. All users share one address, so only a limit per user bounds each user.
    let mut fields = lane.policy().limits().iter().flat_map(|limit| limit.per.fields());
    let each = if fields.any(|field| field == "user") { " per user" } else { "" };
    let promise = if most.is_finite() {
        format!("at most {} in any {}{each}", short(most), spaced(period))
    } else {
        "no upper bound".to_owned()
    };
    match over(lane) {
        text if text.is_empty() => promise,
        text => format!("{promise}; {text}"),
    }
}

/// By how much several processes were over their limit at most, and how often they called Redis; empty for one process.
pub fn over(lane: &Lane) -> String {
    lane.shared().map_or(String::new(), told)
}

/// As [`over`], of these processes.
pub fn told(shared: &Shared) -> String {
    let calls = match shared.calls() {
        0 => String::new(),
        1 => ", 1 call".to_owned(),
        n => format!(", {} calls", axis::readout_count(n)),
    };
    format!("{} over{calls}", short(shared.over()))
}

/// When the next event would be allowed, in words.
pub fn next(retry: Retry) -> String {
    match retry {
        Retry::After(wait) if wait == Span::ZERO => "next now".to_owned(),
        Retry::After(wait) => format!("next in {}", axis::seconds(wait.as_secs_f64())),
        Retry::Never => "next never".to_owned(),
    }
}

/// How long senders waited after refusals: the shortest wait, a bar for each class of waits, and the longest. Each
/// class has waits twice as long as the previous class. Empty before any wait has ended.
pub fn waits(lane: &Lane) -> String {
    const BARS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let waits = lane.waits();
    let Some([least, most]) = waits.range() else { return String::new() };
    let [least, most] = [least, most].map(|wait| axis::seconds(wait.as_secs_f64()));
    if least == most {
        return format!("waits {least}");
    }
    let counts = waits.counts();
    let highest = counts.iter().max().map_or(1, |most| (*most).max(1));
    let bar = |count: &u64| match *count {
        0 => ' ',
        // At least the lowest bar, so that a single long wait among thousands is visible.
        count => BARS[(count.saturating_mul(8).div_ceil(highest) as usize).clamp(1, 8) - 1],
    };
    format!("waits {least} {} {most}", counts.iter().map(bar).collect::<String>())
}
