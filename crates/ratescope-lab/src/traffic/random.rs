//! Random numbers, the same for the same seed on every machine.

use rand_core::{Rng, SeedableRng};
use rand_pcg::Pcg32;

#[derive(Clone, Debug)]
pub(crate) struct Random(Pcg32);

impl Random {
    /// Similar seeds, such as 1 and 2, give unrelated numbers.
    pub(crate) fn new(seed: u64) -> Self {
        Random(Pcg32::seed_from_u64(seed))
    }

    /// A uniform number above 0 and up to 1, a multiple of 2⁻⁵³.
    #[inline(always)]
    pub(crate) fn uniform(&mut self) -> f64 {
        const STEP: f64 = 1.0 / (1u64 << 53) as f64;
        ((self.0.next_u64() >> 11) + 1) as f64 * STEP
    }

    /// An exponential number with mean 1, from 0 up to 36.7 (53 ln 2).
    ///
    /// By inversion: P(-ln u > x) = P(u < e^-x) = e^-x. Knuth's algorithm S needs no logarithm, but measured no faster
    /// natively and slower in WebAssembly. Without `inline`, it measured three times as slow.
    #[inline(always)]
    pub(crate) fn exponential(&mut self) -> f64 {
        -libm::log(self.uniform())
    }
}
