//! The smaller and the larger of two numbers, by one comparison, and rounding down to f32.
//!
//! `f64::min` and `f64::max` ignore a NaN in either argument. WebAssembly has no instruction for
//! that, so they become function calls, which cost time when millions of events are counted.

/// The smaller of two numbers; `a` if either is NaN.
#[inline(always)]
pub const fn smaller(a: f64, b: f64) -> f64 {
    if b < a { b } else { a }
}

/// The larger of two numbers; `a` if either is NaN.
#[inline(always)]
pub const fn larger(a: f64, b: f64) -> f64 {
    if b > a { b } else { a }
}

/// The largest finite f32 that is not above `x`.
pub(crate) fn rounded_down(x: f64) -> f32 {
    let nearest = x.min(f64::from(f32::MAX)) as f32;
    if f64::from(nearest) > x { nearest.next_down() } else { nearest }
}
