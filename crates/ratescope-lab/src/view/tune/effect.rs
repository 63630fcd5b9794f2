//! The effect of a limit, in words.

use super::Picture;
use crate::plot::axis::readout;
use crate::tune::Measure;
use crate::view::spaced;
use ratescope::internal::grouped;

/// The name of the axis of limits, as in `Burst, at 30/1m`.
pub fn axis(picture: &Picture<'_>) -> String {
    match picture.measure {
        Measure::Bucket(rate) | Measure::Nginx(rate) => format!("Burst, at {rate}"),
        Measure::Exim(per) => format!("Limit of Exim's rate per {}", spaced(per)),
        Measure::Earrrl(per, _) => format!("Limit of the recent average per {}", spaced(per)),
        Measure::FixedWindow(per) => format!("Limit per {} of the clock", spaced(per)),
        measure => format!("Limit per {}", spaced(measure.period())),
    }
}

/// A limit of the measure, as in `exim 10/1m strict`.
pub(super) fn limit_in_words(picture: &Picture<'_>, limit: f64) -> String {
    match picture.measure.limiter(limit) {
        Ok(limiter) => limiter.to_string(),
        Err(_) => picture.measure.to_string().replacen('N', &limit.to_string(), 1),
    }
}

/// The effect of a limit, as lines of text.
pub fn words(picture: &Picture<'_>, limit: f64) -> Vec<String> {
    let steps = picture.stairs();
    let step = picture.stairs().at(limit);
    let mut lines = vec![format!("touches {}", of(step.touched[0], steps.clients[0], "clients"))];
    if steps.clients[2] > 0 {
        let share = |part: usize| match (step.touched.get(part), steps.clients.get(part)) {
            (Some(&some), Some(&all)) => percent(some, all),
            _ => String::new(),
        };
        lines.push(format!("learned {}, checked {}", share(1), share(2)));
    }
    let exact = picture
        .data
        .refusals
        .as_ref()
        .filter(|refusals| refusals.done && picture.limit == Some(limit));
    let counted = picture.data.counted.iter().find(|[at, _]| *at == limit).map(|[_, n]| *n as u64);
    if steps.requests > 0 {
        lines.push(format!("refuses {}", of(step.refused, steps.requests, picture.data.events)));
    } else if let Some(refused) = exact.map(|refusals| refusals.refused).or(counted) {
        lines.push(format!("refuses {}", of(refused, picture.data.requests, picture.data.events)));
    }
    if steps.marked > 0 {
        lines.push(format!("by mistake {}", of(step.marked, steps.marked, "marked")));
    }
    lines
}

fn of(some: u64, all: u64, what: &str) -> String {
    format!("{} of {} {what}, {}", grouped(some), grouped(all), percent(some, all))
}

fn percent(some: u64, all: u64) -> String {
    match (some, all) {
        (0, _) => "none".to_owned(),
        (some, all) => format!("{} %", readout(some as f64 / all.max(1) as f64 * 100.0)),
    }
}
