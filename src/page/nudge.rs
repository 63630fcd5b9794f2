//! The next value of any setting, up or down.

use ratescope::internal::number;
use ratescope::rate::Rate;
use ratescope::time::Span;
use ratescope_lab::plot::axis;

/// The value after `text` (`by` is 1) or before it (`by` is -1). A span goes to the next round span, a rate to the next
/// whole number of events from 1 on, and a number to the next whole number; `auto-rate`, which has a slider, to the
/// next round number. `None` for any other text.
pub(super) fn next(name: &str, text: &str, by: f64) -> Option<String> {
    let step =
        |value: f64| if by > 0.0 { libm::floor(value) + 1.0 } else { libm::ceil(value) - 1.0 };
    if name == "auto-rate" {
        return Some(axis::next_round(number(text)?, by).to_string());
    }
    // A seed may have more digits than a float.
    if let Ok(whole) = text.parse::<u64>() {
        return Some(whole.saturating_add_signed(by as i64).to_string());
    }
    if let Ok(span) = text.parse::<Span>() {
        let next = Span::try_from_secs_f64(axis::next_round_time(span.as_secs_f64(), by)).ok()?;
        return Some(next.to_string());
    }
    if let Ok(rate) = text.parse::<Rate>() {
        // A rate below one event is not lowered.
        let least = rate.count().min(1.0);
        return Some(format!("{}/{}", step(rate.count()).max(least), rate.per()));
    }
    Some(step(number(text)?).max(0.0).to_string())
}
