//! The decay against the library's functions, which are right to the last bit or two.

use crate::properties::{assert_near, magnitude};
use proptest::prelude::*;
use ratescope::estimate::decay::decay;

proptest! {
    #[test]
    fn agrees_with_the_library(x in magnitude(-300.0, 2.8)) {
        let ours = decay(x);
        let (left, mean) = (libm::exp(-x), -libm::expm1(-x) / x);
        assert_near(ours.left, left, 2.0 * f64::EPSILON, left);
        assert_near(ours.mean, mean, 4.0 * f64::EPSILON, mean);
    }

    /// Where e^-x is no longer a normal number, its digits go but not its sense.
    #[test]
    fn ends_at_nothing(x in 700f64..1e300) {
        let ours = decay(x);
        prop_assert!((0.0..1e-300).contains(&ours.left));
        assert_near(ours.mean, 1.0 / x, 4.0 * f64::EPSILON, 1.0 / x);
    }

    /// Across the seam between series and library too.
    #[test]
    fn never_rises(x in 0.001f64..0.02, more in magnitude(-12.0, -3.0)) {
        let (before, after) = (decay(x), decay(x + more));
        prop_assert!(after.left < before.left && after.mean < before.mean);
    }
}
