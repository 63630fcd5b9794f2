//! The pause that a service asks for by `Retry-After`.
//!
//! Source: RFC 9110, section 10.2.3; RFC 6585, section 4.

use http::header::{DATE, RETRY_AFTER};
use http::{HeaderMap, StatusCode};
use ratescope::limit::Limiter;
use ratescope::outcome::{Outcome, Retry};
use ratescope::time::{Span, Time};

/// The pause that a response asks for, received at `now`; `None` if it asks for none. The header has whole seconds or a
/// date. Others write fractions, or several numbers where each of two servers added one: a fraction is rounded up, and of
/// several pauses the longest counts.
pub(super) fn asked_for(status: StatusCode, headers: &HeaderMap, now: Time) -> Option<Span> {
    if !matches!(status, StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE) {
        return None;
    }
    let lines = headers.get_all(RETRY_AFTER).iter().filter_map(|line| line.to_str().ok());
    let sent = headers.get(DATE).and_then(|sent| date(sent.to_str().ok()?)).unwrap_or(now);
    // A date has a comma of its own.
    let until = |line| date(line).map(|until| sent.until(until));
    lines.filter_map(|line| until(line).or_else(|| line.split(',').filter_map(seconds).max())).max()
}

fn date(text: &str) -> Option<Time> {
    httpdate::parse_http_date(text.trim()).ok().map(Time::from)
}

/// Seconds, rounded up.
fn seconds(text: &str) -> Option<Span> {
    let text = text.trim();
    let is_digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let (whole, fraction) = text.split_once('.').unwrap_or((text, "0"));
    if !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // Cut to 30,000 years: a larger number may not fit into a span.
    Span::try_from_secs_f64(text.parse::<f64>().ok()?.ceil().min(1e12)).ok()
}

/// The limiter of pauses, which lets nothing pass until the pause is over. The state is its beginning and its end; the
/// cost of an event is the length of a pause in seconds. A clock that is behind the beginning by more than that length
/// was set back, and the pause moves back with it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pause;

impl Limiter for Pause {
    type State = [Time; 2];

    fn initial(&self) -> [Time; 2] {
        [Time::from_micros(i64::MIN); 2]
    }

    fn peek(&self, pause: &[Time; 2], now: Time, _cost: f64) -> Outcome {
        let left = self.reset_after(pause, now);
        Outcome::new(left == Span::ZERO, left.as_secs_f64(), 0.0)
    }

    /// A shorter pause does not end a longer one.
    fn record(&self, pause: &mut [Time; 2], now: Time, seconds: f64, _allowed: bool) {
        let asked = Span::try_from_secs_f64(seconds).unwrap_or(Span::ZERO);
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
