//! The blue line: a smoothed average of Exim's rate, slow to rise.
//!
//! Source: the page "ratelimit demo" by Tony Finch asks for "a smoothed average of the red line,
//! which might be suitable for automatically adaptive rate limiting", adjusted by an "increase
//! interval", and states no formula. This one is ours.
//!
//! # The formula
//! The smoothed rate B follows the rate R with the increase interval q, dB/dt = (R - B)/q.
//! Between events R decays over the period p, R(t) = R e^(-t/p), so there is an exact solution.
//! The integrating factor e^(t/q) gives
//!
//! ```text
//! B(d) = B e^(-d/q) + R/q ∫ e^(-(d-s)/q) e^(-s/p) ds,  s from 0 to d
//!      = B e^(-d/q) + R p/(q-p) (e^(-d/q) - e^(-d/p))
//! ```
//!
//! B is therefore exact at any time after an event, without a step size.
//!
//! When one interval is at least twice the other, this difference loses no more than three bits. After a short time
//! both exponentials are near 1 and their first digits cancel, so there the difference of their losses is computed.
//!
//! When the intervals are closer than that, the difference is factored:
//!
//! ```text
//! B(d) = B e^(-d/q) + R (d/q) e^(-d/q) φ(x),   φ(x) = (e^x - 1)/x,  x = d/q - d/p
//! ```
//!
//! When q < p, x is positive, and e^(-d/q) φ(x) = e^(-d/p) φ(-x) is used instead: then no exponent
//! is positive and nothing overflows. In both cases the product is e^(-d/max(p, q)) φ(-|x|), and
//! φ(-|x|) is the mean of the decay over |x|, also where p = q.
//!
//! # The edges
//! * **Before the first event:** B = 0.
//! * **No time passed, or time ran backwards:** d = 0 and B stays. A burst in one instant lifts R
//!   and leaves B unchanged, which makes B robust against bursts.
//! * **q much shorter than p:** p/(q-p) tends to -1, and B follows R at once.

use super::decay::{Decay, decay};
use crate::extremes::larger;
use crate::time::Span;

/// Smooths a rate that decays over `decay` with the time constant `increase`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Smoothed {
    /// The decay interval p of the rate; longer than zero.
    pub decay: Span,
    /// The increase interval q; longer than zero.
    pub increase: Span,
}

impl Smoothed {
    /// The smoothed rate `elapsed` seconds after it was `smoothed` and the rate was `rate`, if
    /// nothing has arrived since. All rates are in the same unit. A negative `elapsed` counts as 0.
    #[inline]
    pub fn after(&self, smoothed: f64, rate: f64, elapsed: f64) -> f64 {
        let decayed = decay(larger(0.0, elapsed / self.decay.as_secs_f64()));
        self.after_decay(smoothed, rate, elapsed, decayed)
    }

    /// As [`after`](Self::after), for a caller that knows the decay of the rate.
    #[inline]
    pub(crate) fn after_decay(
        &self,
        smoothed: f64,
        rate: f64,
        elapsed: f64,
        decayed: Decay,
    ) -> f64 {
        if elapsed <= 0.0 {
            return smoothed;
        }
        let (p, q) = (self.decay.as_secs_f64(), self.increase.as_secs_f64());
        let (in_decays, in_increases) = (elapsed / p, elapsed / q);
        let forgotten = decay(in_increases);
        let lifted = if p >= 2.0 * q || q >= 2.0 * p {
            let apart = if in_decays < 1.0 && in_increases < 1.0 {
                in_decays * decayed.mean - in_increases * forgotten.mean
            } else {
                forgotten.left - decayed.left
            };
            p / (q - p) * apart
        } else {
            let slower = larger(decayed.left, forgotten.left);
            if slower == 0.0 {
                return 0.0; // Both are gone, and the quotients may be infinite.
            }
            slower * (in_increases * decay((in_increases - in_decays).abs()).mean)
        };
        smoothed * forgotten.left + rate * lifted
    }

    /// The seconds until the smoothed rate is highest, if nothing arrives, from the instant at which it was `smoothed`
    /// and the rate was `rate`. It peaks when the falling rate meets it; the result is 0 when the rate is not above
    /// `smoothed`.
    ///
    /// Setting B(d) = R e^(-d/p) in the formula above leaves e^x = 1 + z with
    /// z = (p/q - 1)(1 - B/R), and so d = p (1 - B/R) ln(1 + z)/z.
    pub fn peak_after(&self, smoothed: f64, rate: f64) -> f64 {
        if rate <= smoothed || rate.is_nan() {
            return 0.0;
        }
        let below = 1.0 - smoothed / rate;
        let z = (self.decay.as_secs_f64() / self.increase.as_secs_f64() - 1.0) * below;
        let bend = if z.abs() < 1e-9 { 1.0 } else { libm::log1p(z) / z };
        self.decay.as_secs_f64() * below * bend
    }
}
