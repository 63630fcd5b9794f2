//! The formulas alone, in f64, with their numbers in registers: the least cost of a decision.
//! Each is given the time in microseconds, for events of cost 1, and answers whether the event
//! passes, with the level that says why.

/// Seconds.
fn since(from: i64, to: i64) -> f64 {
    (to - from) as f64 / 1e6
}

pub(crate) fn exim(limit: f64, period: f64, leaky: bool) -> impl FnMut(i64) -> (bool, f64) {
    let (mut rate, mut at) = (0.0f64, i64::MIN / 2);
    move |now| {
        let x = since(at, now).max(1e-9) / period;
        let lost = -libm::expm1(-x);
        let level = (lost / x + rate * (1.0 - lost)).max(1.0);
        let passes = level < limit;
        if passes || !leaky {
            (rate, at) = (level, now);
        }
        (passes, level)
    }
}

pub(crate) fn earrrl(limit: f64, half_life: f64) -> impl FnMut(i64) -> (bool, f64) {
    let lambda = std::f64::consts::LN_2 / half_life;
    let (mut size, mut at) = (0.0, 0);
    move |now| {
        size *= libm::exp(-lambda * since(at, now));
        let level = size * lambda;
        (size, at) = (size + 1.0, now);
        (level <= limit, level)
    }
}

pub(crate) fn token_bucket(burst: f64, per_second: f64) -> impl FnMut(i64) -> (bool, f64) {
    let (mut tokens, mut at) = (burst, 0);
    move |now| {
        tokens = (tokens + since(at, now) * per_second).min(burst);
        at = now;
        let (passes, level) = (tokens >= 1.0, burst - tokens + 1.0);
        tokens -= if passes { 1.0 } else { 0.0 };
        (passes, level)
    }
}

pub(crate) fn gcra(burst: f64, per_second: f64) -> impl FnMut(i64) -> (bool, f64) {
    let (mut due, share) = (0.0f64, 1e6 / per_second);
    move |now| {
        due = due.max(now as f64);
        let level = (due - now as f64) / share + 1.0;
        let passes = level <= burst;
        due += if passes { share } else { 0.0 };
        (passes, level)
    }
}
