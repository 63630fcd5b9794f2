//! The pause that a service asks for by `Retry-After`.
//!
//! Source: RFC 9110, section 10.2.3; RFC 6585, section 4.

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use ratescope::internal::Sealed;
use ratescope::limit::Limiter;
use ratescope::outcome::{Outcome, Retry};
use ratescope::time::{Span, Time};

/// The pause that a response asks for, received at `now`; `None` if it asks for none.
pub(super) fn asked_for(status: StatusCode, headers: &HeaderMap, now: Time) -> Option<Span> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let text = headers.get(RETRY_AFTER)?.to_str().ok()?.trim();
    if !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit()) {
        // Cut to 30,000 years: a larger number may not fit into a span.
        return Span::from_secs(text.parse::<f64>().ok()?.min(1e12)).ok();
    }
    let date = |text| httpdate::parse_http_date(text).ok().map(Time::from);
    let until = date(text)?;
    let sent = headers.get(DATE).and_then(|sent| date(sent.to_str().ok()?));
    Some(sent.unwrap_or(now).until(until))
}

/// The limiter of pauses, which lets nothing pass until the pause is over. The state is its beginning and its end; the
/// cost of an event is the length of a pause in seconds. A clock that is behind the beginning by more than that length
/// was set back, and the pause moves back with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause;

impl Sealed for Pause {}

impl Limiter for Pause {
    type State = [Time; 2];

    fn initial(&self) -> [Time; 2] {
        [Time::from_micros(i64::MIN); 2]
    }

    fn peek(&self, pause: &[Time; 2], now: Time, _cost: f64) -> Outcome {
        let left = self.reset_after(pause, now);
        Outcome::new(left == Span::ZERO, left.secs(), 0.0)
    }

    /// A shorter pause does not end a longer one.
    fn record(&self, pause: &mut [Time; 2], now: Time, seconds: f64, _allowed: bool) {
        let asked = Span::from_secs(seconds).unwrap_or(Span::ZERO);
        *pause = if asked > self.reset_after(pause, now) {
            [now, now.after(asked)]
        } else {
            as_of(now, *pause)
        };
    }

    fn retry_after(&self, pause: &[Time; 2], now: Time, _cost: f64) -> Retry {
        Retry::After(self.reset_after(pause, now))
    }

    fn remaining(&self, pause: &[Time; 2], now: Time) -> f64 {
        if self.reset_after(pause, now) == Span::ZERO { f64::INFINITY } else { 0.0 }
    }

    fn reset_after(&self, pause: &[Time; 2], now: Time) -> Span {
        let [_, until] = as_of(now, *pause);
        now.until(until)
    }

    fn max_admitted(&self, _window: Span, _cost: f64) -> f64 {
        f64::INFINITY
    }
}

/// The pause, moved back if the clock was set back.
fn as_of(now: Time, [from, until]: [Time; 2]) -> [Time; 2] {
    let all = from.until(until);
    if now.until(from) > all { [now, now.after(all)] } else { [from, until] }
}
