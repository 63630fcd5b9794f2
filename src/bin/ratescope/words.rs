//! Numbers and times for people to read, and to write.

use ratescope::Time;
use ratescope::civil::Civil;
use std::io::{self, Write};
use std::num::ParseIntError;

/// Prints lines to standard error. When even that cannot be written, the exit status has to do.
pub(crate) fn say(lines: &str) {
    let _ = lines.lines().try_for_each(|line| writeln!(io::stderr(), "{}", visible(line)));
}

/// A text of a log, of which a terminal obeys nothing.
pub(crate) fn visible(text: &str) -> String {
    text.chars().map(ratescope::text::visible).collect()
}

/// With a comma at each thousand, as in `9,812`.
pub(crate) fn grouped(n: u64) -> String {
    let digits = n.to_string();
    let mut text = String::new();
    for (i, digit) in digits.chars().enumerate() {
        if i > 0 && (digits.len() - i).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

/// A share from 0 to 1, as in `2.1 %`; something is never shown as nothing.
pub(crate) fn percent(share: f64) -> String {
    match share * 100.0 {
        0.0 => "0 %".to_owned(),
        tiny if tiny < 0.01 => "<0.01 %".to_owned(),
        small if small < 1.0 => format!("{small:.2} %"),
        more => format!("{more:.1} %"),
    }
}

/// Reads how many of something there may be.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it is 1 at least".to_owned()),
        read => read.map_err(|error: ParseIntError| error.to_string()),
    }
}

/// The date and the time of day of a time, as a clock of UTC shows it, in whole seconds.
pub(crate) fn when(time: Time) -> String {
    let seconds = time.as_micros().div_euclid(1_000_000);
    Civil(Time::from_micros(seconds * 1_000_000)).to_string()
}
