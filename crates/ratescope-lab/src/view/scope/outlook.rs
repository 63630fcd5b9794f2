//! Sentences about how much the limit allows.

use crate::plot::axis;
use crate::scope::Settings;
use crate::scope::outlook::{Fate, Outlook};

/// Three sentences: about a burst, about even events, and about the silence after them.
pub fn outlook(settings: &Settings, outlook: &Outlook) -> [String; 3] {
    let once = match outlook.at_once {
        f64::INFINITY => "all events".to_owned(),
        0.0 => "none".to_owned(),
        1.0 => "1 event".to_owned(),
        n => format!("{} events", plain(n)),
    };
    let (even, after) = match outlook.fate {
        Fate::Passes => {
            let settles = axis::readout(outlook.steady.max(1.0));
            (format!("all; the rate settles at {settles}"), "Nothing has to wait.".to_owned())
        }
        Fate::Barred => {
            let why = "Nothing ever passes: a single event already measures 1.";
            ("none".to_owned(), why.to_owned())
        }
        Fate::Over(over) => {
            let [pace, again] = [over.pace, over.again].map(axis::seconds);
            (
                format!(
                    "{}, then one each {pace} at best (leaky) or none (strict)",
                    plain(over.events)
                ),
                format!("After that, free again in at most {pace} (leaky) or {again} (strict)."),
            )
        }
    };
    let rate = plain(settings.common.auto_rate);
    [format!("At once: {once}."), format!("At an even {rate} a second: {even}."), after]
}

/// A number as text: in full if it is whole or shorter than six characters, as most typed numbers are; otherwise as a
/// [readout](axis::readout).
pub(super) fn plain(value: f64) -> String {
    if (0.0..1e15).contains(&value) && value == libm::floor(value) {
        return axis::readout_count(value as u64);
    }
    let exact = value.to_string();
    if exact.len() < 6 { exact } else { axis::readout(value) }
}
