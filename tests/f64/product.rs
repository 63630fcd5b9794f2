//! Products of two whole numbers below 2^52, compared exactly with f64 alone.

use proptest::prelude::*;

const LIMB: f64 = 67_108_864.0; // 2^26

/// a b as a high and a low part of 52 bits each.
fn product(a: f64, b: f64) -> (f64, f64) {
    let (a1, b1) = ((a / LIMB).floor(), (b / LIMB).floor());
    let (a0, b0) = (a - a1 * LIMB, b - b1 * LIMB);
    let mid = a1 * b0 + a0 * b1;
    let mid1 = (mid / LIMB).floor();
    let low = a0 * b0 + (mid - mid1 * LIMB) * LIMB;
    let carry = (low / (LIMB * LIMB)).floor();
    (a1 * b1 + mid1 + carry, low - carry * LIMB * LIMB)
}

/// Whether a b < c d.
pub(crate) fn less(a: f64, b: f64, c: f64, d: f64) -> bool {
    let ((high, low), (other_high, other_low)) = (product(a, b), product(c, d));
    high < other_high || (high == other_high && low < other_low)
}

/// a b / c, rounded down, or `most` if that is less.
pub(crate) fn divided(a: f64, b: f64, c: f64, most: f64) -> f64 {
    let guess = (a * (b / c)).floor();
    let mut quotient = if guess < most { guess } else { most };
    while less(a, b, quotient, c) {
        quotient -= 1.0;
    }
    while quotient < most && !less(a, b, quotient + 1.0, c) {
        quotient += 1.0;
    }
    quotient
}

/// a b / c, rounded up, where b <= c.
pub(crate) fn divided_up(a: f64, b: f64, c: f64) -> f64 {
    let quotient = divided(a, b, c, a);
    quotient + if less(quotient, c, a, b) { 1.0 } else { 0.0 }
}

fn number() -> impl Strategy<Value = u64> {
    (0..52u32).prop_flat_map(|n| (1u64 << n)..1u64 << (n + 1))
}

proptest! {
    #[test]
    fn products_are_compared_exactly(a in number(), b in number(), c in number(), d in number()) {
        let whole = |a: u64, b: u64| u128::from(a) * u128::from(b);
        let [x, y, z, w] = [a, b, c, d].map(|n| n as f64);
        prop_assert_eq!(less(x, y, z, w), whole(a, b) < whole(c, d));
        prop_assert!(!less(x, y, y, x));
        // Next to each other.
        let near = u64::try_from(whole(a, b) / u128::from(c)).unwrap_or(u64::MAX);
        if near < 1 << 52 {
            prop_assert_eq!(less(near as f64, z, x, y), whole(near, c) < whole(a, b));
        }
    }

    #[test]
    fn quotients_are_exact(a in number(), b in number(), c in number(), most in number()) {
        let exact = u128::from(a) * u128::from(b) / u128::from(c);
        let [x, y, z, m] = [a, b, c, most].map(|n| n as f64);
        prop_assert_eq!(divided(x, y, z, m) as u128, exact.min(u128::from(most)));
        let (b, c) = (b.min(c), b.max(c));
        let exact = (u128::from(a) * u128::from(b)).div_ceil(u128::from(c));
        prop_assert_eq!(divided_up(x, b as f64, c as f64) as u128, exact);
    }
}
