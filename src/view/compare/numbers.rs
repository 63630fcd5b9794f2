//! What a lane says in numbers, on a tag, beside the crosshair and for a screen reader.

use crate::lab::compare::history::Column;
use crate::lab::compare::{Lane, Replay};
use crate::outcome::Retry;
use crate::plot::axis;
use crate::time::{Span, Time};

/// A level against its limit, as in `8.31 of 10`.
pub(super) fn level(level: f64, limit: f64) -> String {
    format!("{} of {}", short(level), short(limit))
}

/// A count, in a narrow place.
pub(super) fn count(count: u64) -> String {
    short(count as f64)
}

/// A number for a narrow place; what is whole has no decimals.
pub fn short(value: f64) -> String {
    if (0.0..9999.5).contains(&value) && value == libm::floor(value) {
        return axis::readout_count(value as u64);
    }
    axis::compact(value)
}

/// What a lane remembers of the instant `at`; `None` before it began and where it is forgotten.
pub(super) fn column<'a>(replay: &Replay, lane: &'a Lane, at: Time) -> Option<&'a Column> {
    // What comes at the present instant itself is not known yet.
    lane.history().column_at(at.min(replay.now().before(Span::micros(1))))
}

/// What was decided in a column, and why, if not in `brief`; `None` where there was no event.
pub(super) fn verdict(column: &Column, brief: bool) -> Option<String> {
    let judged = column.judged.as_ref()?;
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
        Some(wait) => format!("allowed in {}", axis::seconds(wait.secs())),
    };
    // Where the event counts, what it was judged at is the level after it.
    let rounding = 1e-6 * judged.limit;
    let is_level = (column.low - rounding..=column.high + rounding).contains(&judged.level);
    Some(match brief || is_level && judged.limit == column.limit {
        true => verdict,
        false => format!("{verdict}: judged at {}", level(judged.level, judged.limit)),
    })
}

/// When the next event would be allowed.
pub fn next(retry: Retry) -> String {
    match retry {
        Retry::After(wait) if wait == Span::ZERO => "next now".to_owned(),
        Retry::After(wait) => format!("next in {}", axis::seconds(wait.secs())),
        Retry::Never => "next never".to_owned(),
    }
}
