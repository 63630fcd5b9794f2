//! The exponential decay and its mean, from which every estimator here is built.

/// The decay after `x` time constants, and its mean from 0 to `x`.
#[derive(Clone, Copy, Debug, PartialEq)]
#[doc(hidden)]
pub struct Decay {
    /// `e^-x`, from 1 at x = 0 down to 0.
    pub left: f64,
    /// `(1 - e^-x) / x`, the mean of `e^-s` over s from 0 to x; from 1 at x = 0 down to 0.
    pub mean: f64,
}

/// Decay over `x` time constants, for x from 0 to infinity.
///
/// For small x the quotient loses digits to cancellation. There the mean is computed from its
/// series `1 - x/2! + x²/3! - …`, and the exponential as `1 - x·mean`. Cut after x⁶, the series is
/// off by less than x⁷/8!, which is 2⁻⁶⁴ at x = 1/128: below the precision of f64. The series is
/// also several times faster than a call of `libm`, and x is small when events are many.
#[inline(always)]
pub fn decay(x: f64) -> Decay {
    if x < 1.0 / 128.0 {
        let tail = 1.0 / 24.0 - x * (1.0 / 120.0 - x * (1.0 / 720.0 - x * (1.0 / 5040.0)));
        let mean = 1.0 - x * (0.5 - x * (1.0 / 6.0 - x * tail));
        Decay { left: 1.0 - x * mean, mean }
    } else {
        by_library(x)
    }
}

/// `e^-x` alone, for x from 0 to infinity. If the mean is not needed, there is no cancellation to avoid,
/// and `exp` is faster than `expm1`.
#[inline(always)]
pub(crate) fn left(x: f64) -> f64 {
    if x < 1.0 / 128.0 { decay(x).left } else { libm::exp(-x) }
}

/// Both numbers from one call of `libm`. Below ln 2 the loss 1 - e^-x is less than a half: `expm1`
/// gives it, and `left` is one minus it. Above ln 2, `left` is less than a half: `exp` gives it, and
/// the loss is one minus it. The library always computes the smaller of the two, so the subtraction
/// loses no digits.
///
/// It is a function of its own so that [`decay`] stays small enough to be inlined into loops.
#[inline(never)]
fn by_library(x: f64) -> Decay {
    if x < core::f64::consts::LN_2 {
        let lost = -libm::expm1(-x);
        Decay { left: 1.0 - lost, mean: lost / x }
    } else {
        let left = libm::exp(-x);
        Decay { left, mean: (1.0 - left) / x }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_time_passed_leaves_everything() {
        assert_eq!(decay(0.0), Decay { left: 1.0, mean: 1.0 });
    }

    #[test]
    fn endless_time_leaves_nothing() {
        assert_eq!(decay(f64::INFINITY), Decay { left: 0.0, mean: 0.0 });
    }

    #[test]
    fn series_and_library_meet() {
        let x = 1.0 / 128.0;
        for x in [x * (1.0 - 1e-12), x * 0.5, x * 0.01, 1e-9] {
            let Decay { left, mean: m } = decay(x);
            assert!((left - libm::exp(-x)).abs() <= 2.0 * f64::EPSILON, "left at {x}");
            let mean = -libm::expm1(-x) / x;
            assert!((m - mean).abs() <= 2.0 * f64::EPSILON, "mean at {x}");
        }
    }

    /// The nearest numbers to the exact means, where the last term of the series matters most.
    #[test]
    fn the_series_is_right_to_the_last_bit() {
        for (x, mean) in [
            (8191.0, 0.9961043770498733),
            (8189.0, 0.9961053257728633),
            (8184.0, 0.9961076975856124),
        ] {
            assert_eq!(decay(x / 1_048_576.0).mean, mean);
        }
    }

    /// `left` uses the series where the mean needs it, and otherwise `exp`.
    #[test]
    fn what_is_left_alone_is_what_is_left() {
        for i in 0..8192 {
            let x = f64::from(i) / 1_048_576.0;
            assert_eq!(super::left(x), decay(x).left, "{x}");
        }
        for i in 8..100_000 {
            let x = f64::from(i) / 1000.0;
            assert_eq!(super::left(x), libm::exp(-x), "{x}");
        }
    }
}
