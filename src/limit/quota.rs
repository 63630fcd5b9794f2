//! Quotas: a limit as clients are told of it.

use super::any::AnyLimiter;
use crate::rate::Rate;
use crate::time::Span;

impl AnyLimiter {
    /// The most that passes at once, per the time until as much passes again; `None` if the limiter
    /// never refuses.
    ///
    /// For a rate or a window it is the limit as written. For a bucket it is the size of the bucket per
    /// the time to fill it: `gcra 1/1s burst 100` is 100 per 100 s. For an adaptive limiter it is what
    /// an unknown sender gets.
    pub fn quota(&self) -> Option<Rate> {
        let bucket = |size: f64, rate: Rate| {
            let time = Span::from_secs(size / rate.per_second()).ok()?;
            Rate::new(size, time).ok()
        };
        let learned = |floor: f64, decay: Span| Rate::new(floor, decay).ok();
        match self {
            AnyLimiter::Exim(exim) => Some(exim.limit).filter(|_| !exim.measures_only()),
            AnyLimiter::Earrrl(earrrl) => Some(earrrl.limit()),
            AnyLimiter::TokenBucket(tokens) => bucket(tokens.burst(), tokens.rate()),
            AnyLimiter::Gcra(gcra) => bucket(gcra.burst(), gcra.rate()),
            AnyLimiter::LeakyBucket(leaky) => bucket(leaky.queue(), leaky.rate()),
            AnyLimiter::FixedWindow(window) => Some(window.limit()),
            AnyLimiter::SlidingWindow(window) => Some(window.limit()),
            AnyLimiter::SlidingCounter(counter) => Some(counter.limit()),
            AnyLimiter::SlidingLog(log) => Some(log.limit()),
            AnyLimiter::Adaptive(limiter) => learned(limiter.floor(), limiter.smoothing().decay),
            AnyLimiter::ByHour(limiter) => {
                learned(limiter.hourly().floor(), limiter.hourly().smoothing().decay)
            }
            // The burst comes on top of the one event that the rate lets pass; the rate is the one in
            // force, which may be less than what is written.
            AnyLimiter::Nginx(nginx) => {
                let rate = Rate::new(nginx.per_second(), Span::seconds(1)).ok()?;
                bucket(nginx.burst() as f64 + 1.0, rate)
            }
            AnyLimiter::Haproxy(haproxy) => Some(haproxy.limit()),
            AnyLimiter::Envoy(envoy) => bucket(envoy.burst() as f64, envoy.fill()),
        }
    }
}
