//! The smaller and the larger of two numbers, in one comparison.
//!
//! `f64::min` and `f64::max` ignore a NaN in either argument. WebAssembly has no instruction for
//! that, so they become function calls, which cost time when millions of events are counted.

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
