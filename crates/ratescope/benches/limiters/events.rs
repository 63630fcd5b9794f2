//! Events of many keys, as they come: a few keys often and most of them rarely.

use ratescope::Time;

#[derive(Clone, Copy)]
pub(crate) struct Event {
    pub(crate) key: u64,
    pub(crate) now: Time,
    /// The key as a text, for stores that take texts. Those of one event after another lie side by side, as if each had
    /// just arrived.
    pub(crate) name: &'static str,
}

/// How long a name is.
const NAME: usize = 16;

/// The events of keys with these numbers, from this time on.
fn events(numbers: &[usize], micros: usize) -> Vec<Event> {
    let keys = || numbers.iter().map(|number| mix(*number as u64));
    let names: &str = String::leak(keys().map(|key| format!("{key:0NAME$x}")).collect());
    let event = |(i, key)| {
        let (now, name) = (Time::from_micros((micros + i) as i64), &names[NAME * i..][..NAME]);
        Event { key, now, name }
    };
    keys().enumerate().map(event).collect()
}

/// The network of a name: one of a thousand or so that it shares with others.
pub(crate) fn net(name: &str) -> &str {
    name.get(..4).unwrap_or_default()
}

/// Events of `keys` keys, a microsecond apart.
pub(crate) struct Events {
    /// After these, every key has been seen: they came as the others do, and the rest once each.
    pub(crate) first: Vec<Event>,
    /// Zipf: the n-th key sends 1/n as often as the first.
    pub(crate) then: Vec<Event>,
}

impl Events {
    pub(crate) fn new(keys: usize, count: usize) -> Self {
        let mut sum = 0.0;
        let add = |n: usize| {
            sum += 1.0 / n as f64;
            sum
        };
        let sums: Vec<f64> = (1..=keys).map(add).collect();
        let number = |i: usize| {
            let at = mix(i as u64 ^ 0x5eed) as f64 / 2f64.powi(64) * sum;
            sums.partition_point(|&sum| sum < at).min(keys - 1)
        };
        let mut numbers: Vec<usize> = (0..keys).map(number).collect();
        let mut rest: Vec<usize> = (0..keys).collect();
        rest.sort_by_key(|number| mix(*number as u64 ^ 0x0dd));
        numbers.extend(rest);
        let from = numbers.len();
        let then: Vec<usize> = (from..from + count).map(number).collect();
        Events { first: events(&numbers, 0), then: events(&then, from) }
    }
}

/// SplitMix64.
pub(crate) fn mix(n: u64) -> u64 {
    let z = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}
