//! The Tune view: choices, questions and pictures, as on the page, without a browser.

mod asked;
mod chosen;
mod drawn;
mod read;

use crate::picture;
use ratescope::Span;
use ratescope_lab::traffic::sample::{Sample, Style};
use ratescope_lab::tune::{Analysis, Choices, Import, Imported, MarkedKeys, ReadOptions, Room};
use std::sync::LazyLock;

/// The office of the made-up log, which is as busy as many people are.
pub(crate) const OFFICE: &str = "203.0.113.10";

/// A made-up log.
pub(crate) fn log(style: Style) -> String {
    let mut text = String::from(style.header());
    for entry in Sample::new(1, 20_000, Span::from_hours(48)).unwrap() {
        style.write(&entry, &mut text);
    }
    text
}

/// Reads a log that comes in pieces of this many bytes.
pub(crate) fn imported(text: &str, piece: usize) -> Imported {
    let mut import = Import::new(ReadOptions::default(), Room::default());
    text.as_bytes().chunks(piece).for_each(|piece| import.feed(piece).unwrap());
    import.end().unwrap();
    import.finish().unwrap()
}

/// The whole answer about the made-up log.
pub(crate) fn answer(fragment: &str, marks: &str) -> Analysis {
    static IMPORTED: LazyLock<Imported> =
        LazyLock::new(|| imported(&log(Style::Combined), 1 << 16));
    let choices: Choices = fragment.parse().unwrap();
    let mut analysis = Analysis::new(IMPORTED.clone(), choices);
    let marks: MarkedKeys = marks.parse().unwrap();
    analysis.mark(&marks);
    while !analysis.step(1 << 30) {}
    analysis
}
