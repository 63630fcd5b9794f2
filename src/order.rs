//! The smaller and the larger of two numbers, in one comparison.
//!
//! `f64::min` and `f64::max` treat either argument being NaN alike, for which WebAssembly has no
//! instruction: there they are calls. Where events are counted by the million that shows.

/// The smaller of two numbers; `a` if either is NaN.
#[inline(always)]
pub(crate) const fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// The larger of two numbers; `a` if either is NaN.
#[inline(always)]
pub(crate) const fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}
