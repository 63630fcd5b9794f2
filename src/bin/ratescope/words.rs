//! Numbers and times for people to read.

use ratescope::Time;

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

/// The date and the time of day in UTC of a time since the epoch.
pub(crate) fn when(time: Time) -> String {
    let seconds = time.as_micros().div_euclid(1_000_000);
    let (day, second) = (seconds.div_euclid(86_400), seconds.rem_euclid(86_400));
    // Years that begin in March, in eras of 400 of them.
    let (era, day) = ((day + 719_468).div_euclid(146_097), (day + 719_468).rem_euclid(146_097));
    let year = (day - day / 1460 + day / 36_524 - day / 146_096) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let of_month = day - (153 * month + 2) / 5 + 1;
    let (later, month) = if month < 10 { (0, month + 3) } else { (1, month - 9) };
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let year = era * 400 + year + later;
    format!("{year:04}-{month:02}-{of_month:02} {hour:02}:{minute:02}:{second:02}")
}
