//! The reference vectors and their replay: plain Rust, the same natively and in the browser.

#![allow(dead_code, unreachable_pub)] // Each test file uses its part.

pub mod limiters;
pub mod worst;

use ratescope::estimate::exim::{DecayingRate, Measured};
use ratescope::estimate::recent_average::{Impulse, RecentAverage};
use ratescope::estimate::smoothed::Smoothed;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::{Rate, Span, Time};
use serde_json::Value;
use std::collections::BTreeMap;

/// The files that a real Exim wrote: name and text.
pub const EXIM: [(&str, &str); 4] = [
    ("01_steady", include_str!("../vectors/01_steady.json")),
    ("03_burst_then_silence", include_str!("../vectors/03_burst_then_silence.json")),
    ("06_leaky_vs_strict", include_str!("../vectors/06_leaky_vs_strict.json")),
    ("12_period_syntax", include_str!("../vectors/12_period_syntax.json")),
];

/// Numbers at the edges of f64, and where others would write an exponent, with their plain decimals.
pub const DECIMALS: [(f64, &str); 16] = [
    (0.0, "0"),
    (0.1, "0.1"),
    (0.30000000000000004, "0.30000000000000004"),
    (1e-6, "0.000001"),
    (9.999999999999997e-7, "0.0000009999999999999997"),
    (1e-7, "0.0000001"),
    (1.5e-7, "0.00000015"),
    (1.25e-10, "0.000000000125"),
    (1024.0, "1024"),
    (123456.789, "123456.789"),
    (9007199254740993.0, "9007199254740992"),
    (1.2345678901234567e20, "123456789012345670000"),
    (9.999999999999999e20, "999999999999999900000"),
    (1e21, "1000000000000000000000"),
    (1.5e21, "1500000000000000000000"),
    (1.2345678901234568e22, "12345678901234568000000"),
];

const EARRRL: &str = include_str!("../vectors/earrrl_naughty_user.json");

/// One event as Exim was given it, and the answer.
pub struct Attempt {
    pub key: String,
    pub at: Time,
    pub cost: f64,
    pub mode: Mode,
    /// The text form of the rate: Exim's limit and period.
    pub rate: String,
    /// `None` when Exim refused to read the limit or the period.
    pub answer: Option<Answer>,
}

pub struct Answer {
    pub over: bool,
    pub printed: String,
    pub stored: Measured,
}

impl Attempt {
    pub fn limiter(&self) -> Exim {
        Exim { limit: exim_rate(&self.rate).unwrap(), mode: self.mode }
    }
}

/// Reads a rate as Exim's configuration has it, such as `10 / 1h`. There K is 1024, and so on: see
/// `acl_ratelimit` in Exim's source.
pub fn exim_rate(text: &str) -> Result<Rate, Box<dyn std::error::Error>> {
    let (count, per) = text.split_once('/').ok_or("no slash")?;
    let digits = count.trim().trim_end_matches(char::is_alphabetic);
    let scale = match &count.trim()[digits.len()..] {
        "" => 1.0,
        "K" | "k" => 1024.0,
        "M" | "m" => 1024.0 * 1024.0,
        "G" | "g" => 1024.0 * 1024.0 * 1024.0,
        _ => return Err("no suffix of Exim's".into()),
    };
    Ok(Rate::new(digits.parse::<f64>()? * scale, per.trim().parse()?)?)
}

fn text(value: &Value, field: &str) -> String {
    value[field].as_str().unwrap_or_else(|| panic!("no text {field} in {value}")).to_owned()
}

fn micros(value: &Value) -> Time {
    Time::from_micros(value["t_unix_us"].as_i64().unwrap())
}

/// The events of one of the [`EXIM`] files.
pub fn exim(json: &str) -> Vec<Attempt> {
    let file: Value = serde_json::from_str(json).unwrap();
    let attempt = |event: &Value| Attempt {
        key: text(event, "key"),
        at: micros(event),
        cost: event["weight"].as_f64().unwrap(),
        mode: match text(event, "mode").as_str() {
            "strict" => Mode::Strict,
            "leaky" => Mode::Leaky,
            other => panic!("no such mode in these files: {other}"),
        },
        rate: format!("{}/{}", text(event, "limit"), text(event, "period")),
        answer: event["over_limit"].as_bool().map(|over| Answer {
            over,
            printed: text(event, "sender_rate_as_printed"),
            stored: Measured {
                rate: event["stored_after"]["rate"].as_f64().unwrap(),
                at: micros(&event["stored_after"]),
            },
        }),
    };
    file["events"].as_array().unwrap().iter().map(attempt).collect()
}

/// One request of the EARRRL figure and the answer of Redis.
pub struct Request {
    pub at: Time,
    pub estimate_before: f64,
    pub limited: bool,
    pub allowed_so_far: u64,
}

/// The EARRRL figure: half-life 20 s, limit one a second.
pub fn earrrl() -> Vec<Request> {
    let file: Value = serde_json::from_str(EARRRL).unwrap();
    let request = |event: &Value| Request {
        at: Time::try_from_secs_f64(event["t_seconds"].as_f64().unwrap()).unwrap(),
        estimate_before: text(event, "estimate_before_as_printed").parse().unwrap(),
        limited: event["limited"].as_bool().unwrap(),
        allowed_so_far: event["allowed_so_far"].as_u64().unwrap(),
    };
    file["events"].as_array().unwrap().iter().map(request).collect()
}

/// Panics unless `number` is read back from its text, bit for bit.
#[track_caller]
pub fn assert_comes_back(number: f64) {
    let rate = Rate::new(number, Span::from_secs(1)).unwrap();
    let back: Rate = rate.to_string().parse().unwrap();
    assert_eq!(back.count().to_bits(), number.to_bits(), "{rate}");
}

/// Panics unless the [`DECIMALS`] are written as they should be, and come back.
pub fn assert_decimals() {
    for (number, text) in DECIMALS {
        let rate = Rate::new(number, Span::from_secs(1)).unwrap();
        assert_eq!(rate.to_string(), format!("{text}/1s"));
        assert_comes_back(number);
    }
    for extreme in [f64::MAX, f64::MIN_POSITIVE, 5e-324, 1.0 + f64::EPSILON] {
        assert_comes_back(extreme);
    }
}

/// Fails at the first line that differs.
#[track_caller]
pub fn assert_same_lines(now: &str, committed: &str) {
    for (now, committed) in now.lines().zip(committed.lines()) {
        assert_eq!(now, committed);
    }
    assert_eq!(now.len(), committed.len());
}

/// The state of one key: the red line, EARRRL's impulse and the blue line.
type Lines = (Measured, Impulse, f64);

/// Every rate of a replay of the vectors, a line an event: the file, the number of the event in
/// it, and the bits of Exim's rate, of the recent average and of the smoothed rate.
pub fn bits() -> String {
    let mut out = String::new();
    for (name, json) in EXIM {
        let mut keys: BTreeMap<String, Lines> = BTreeMap::new();
        for (i, attempt) in exim(json).iter().enumerate().filter(|(_, a)| a.answer.is_some()) {
            let period = attempt.limiter().limit.per();
            let before = keys.get(&attempt.key).copied();
            let after = step(period, before, attempt.at, attempt.cost);
            let (red, impulse, blue) = after;
            let hex = [red.rate, impulse.size, blue].map(|v| format!("{:016x}", v.to_bits()));
            out += &format!("{name} {i} {}\n", hex.join(" "));
            keys.insert(attempt.key.clone(), after);
        }
    }
    out
}

/// All three estimators over one event; the half-life is the period, the blue line three times
/// as slow.
fn step(period: Span, before: Option<Lines>, at: Time, cost: f64) -> Lines {
    let exim = DecayingRate { period };
    let recent = RecentAverage { half_life: period };
    let increase = Span::try_from_secs_f64(period.as_secs_f64() * 3.0).unwrap();
    let smoothed = Smoothed { decay: period, increase };
    let red = exim.measure(before.map(|(red, ..)| red), at, cost);
    let impulse = recent.add(before.map(|(_, i, _)| i).unwrap_or_default(), at, cost);
    let blue =
        before.map_or(0.0, |(red, _, blue)| smoothed.after(blue, red.rate, at.since(red.at)));
    (red, impulse, blue)
}
