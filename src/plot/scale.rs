//! From values to positions and back.

/// A logarithmic scale, as for a slider: equal ways are equal factors. It stays within its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Log {
    /// The values at both ends, finite and above zero.
    pub domain: [f64; 2],
    /// The positions of both ends, such as CSS pixels. They may run downwards.
    pub range: [f64; 2],
}

impl Log {
    /// The position of `value`, or that of the end it lies beyond.
    pub fn at(&self, value: f64) -> f64 {
        let t = fraction(self.domain.map(libm::log10), libm::log10(value.max(0.0)));
        lerp(self.range, t.clamp(0.0, 1.0))
    }

    /// The value at `position`, or that at the end it lies beyond. At the ends it is exact.
    pub fn invert(&self, position: f64) -> f64 {
        let [from, to] = self.domain;
        match fraction(self.range, position) {
            t if t <= 0.0 => from,
            t if t >= 1.0 => to,
            t => libm::exp(lerp(self.domain.map(libm::log), t)),
        }
    }
}

/// How far `value` is on the way between the ends, 0 to 1.
fn fraction([from, to]: [f64; 2], value: f64) -> f64 {
    if from == to { 0.5 } else { (value - from) / (to - from) }
}

/// Written so that 0 and 1 give the very ends.
fn lerp([from, to]: [f64; 2], t: f64) -> f64 {
    from * (1.0 - t) + to * t
}
