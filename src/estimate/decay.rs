//! The exponential decay and its mean, which every estimator here is made of.

/// What is left after `x` time constants, and the mean of what was left on the way.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Decay {
    /// `e^-x`, from 1 at x = 0 down to 0.
    pub left: f64,
    /// `(1 - e^-x) / x`, the mean of `e^-s` over s from 0 to x; from 1 at x = 0 down to 0.
    pub mean: f64,
}

/// Decay over `x` time constants, for x from 0 to infinity.
///
/// For small x the quotient would lose its digits to cancellation, so the mean comes from its
/// series `1 - x/2! + x²/3! - …` and the exponential from it, as `1 - x·mean`. Cut after x⁶ the
/// series is short by less than x⁷/8!, which below x = 1/128 is 2⁻⁶⁴ and cannot be seen. The
/// series is also several times faster than two calls of `libm`, and x is small exactly when
/// events are many.
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

/// What is left after `x` time constants, from 0 to infinity, where the mean is not wanted: `exp`
/// is faster than `expm1`, and loses nothing of it.
#[inline(always)]
pub(crate) fn left(x: f64) -> f64 {
    if x < 1.0 / 128.0 { decay(x).left } else { libm::exp(-x) }
}

/// From one call of the library: below ln 2, where the loss 1 - e^-x is less than a half, it is
/// found by `expm1`, and what is left is one minus it; above, what is left is found by `exp`, and
/// it is less than a half. The smaller of the two is found and the larger is the difference, so
/// that neither loses digits.
///
/// Apart, so that the series is small enough to be compiled into the loops that need it.
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

    #[test]
    fn one_call_serves_for_both() {
        for i in 1..100_000 {
            let x = f64::from(i) / 1000.0;
            let Decay { left, mean } = decay(x);
            assert!((left / libm::exp(-x) - 1.0).abs() <= 2.0 * f64::EPSILON, "left at {x}");
            let exact = -libm::expm1(-x) / x;
            assert!((mean / exact - 1.0).abs() <= 2.0 * f64::EPSILON, "mean at {x}");
        }
    }
}
