//! Scales, from values to positions and back.

/// A logarithmic scale, as for a slider: equal distances are equal factors. Results stay within its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LogScale {
    /// The values at both ends, finite and above zero.
    pub domain: [f64; 2],
    /// The positions of both ends, such as CSS pixels. They may descend.
    pub range: [f64; 2],
}

impl LogScale {
    /// The position of `value`, or of the nearer end if `value` lies outside of the domain.
    pub fn at(&self, value: f64) -> f64 {
        let t = fraction(self.domain.map(libm::log10), libm::log10(value.max(0.0)));
        lerp(self.range, t.clamp(0.0, 1.0))
    }

    /// The value at `position`, or at the nearer end if `position` lies outside of the range. It is exact at
    /// the ends.
    pub fn invert(&self, position: f64) -> f64 {
        let [from, to] = self.domain;
        match fraction(self.range, position) {
            t if t <= 0.0 => from,
            t if t >= 1.0 => to,
            t => libm::exp(lerp(self.domain.map(libm::log), t)),
        }
    }
}

/// The part of the way between the ends at which `value` lies: 0 to 1 between them, 0.5 if the ends are
/// equal.
fn fraction([from, to]: [f64; 2], value: f64) -> f64 {
    if from == to { 0.5 } else { (value - from) / (to - from) }
}

/// The value at the part `t` of the way between the ends, written so that 0 and 1 give exactly the ends.
fn lerp([from, to]: [f64; 2], t: f64) -> f64 {
    from * (1.0 - t) + to * t
}
