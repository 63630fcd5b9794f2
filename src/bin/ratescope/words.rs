//! Numbers and times for people to read, and to write.

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

/// Reads how many of something there may be.
pub(crate) fn at_least_one(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it is 1 at least".to_owned()),
        read => read.map_err(|error: ParseIntError| error.to_string()),
    }
}
