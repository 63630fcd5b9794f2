//! The Tune view: what is chosen, asked and drawn, as the page does it, without a browser.

#![allow(clippy::unwrap_used)]
#![cfg(not(target_arch = "wasm32"))]

#[path = "tune_view/asked.rs"]
mod asked;
#[path = "tune_view/chosen.rs"]
mod chosen;
#[path = "tune_view/drawn.rs"]
mod drawn;
#[path = "common/picture.rs"]
mod picture;
#[path = "tune_view/read.rs"]
mod read;

use ratescope::Span;
use ratescope::lab::tune::{Choices, Inquiry, Intake, Marks, Reading, Room, Summary};
use ratescope::traffic::sample::{Sample, Style};

/// The office of the made-up log, which is as busy as many people are.
pub(crate) const OFFICE: &str = "203.0.113.10";

/// A made-up log.
pub(crate) fn log(style: Style) -> String {
    let mut text = String::from(style.header());
    for entry in Sample::new(1, 20_000, Span::hours(48)).unwrap() {
        style.write(&entry, &mut text);
    }
    text
}

/// What is kept of it when it comes in pieces of so many bytes.
pub(crate) fn summary(text: &str, piece: usize) -> Summary {
    let mut intake = Intake::new(Reading::default(), Room::default());
    text.as_bytes().chunks(piece).for_each(|piece| intake.feed(piece).unwrap());
    intake.end().unwrap();
    intake.finish().unwrap()
}

/// The whole answer about the made-up log.
pub(crate) fn answer(fragment: &str, marks: &str) -> Inquiry {
    let choices: Choices = fragment.parse().unwrap();
    let mut inquiry = Inquiry::new(summary(&log(Style::Combined), 1 << 16), choices);
    let marks: Marks = marks.parse().unwrap();
    inquiry.mark(&marks);
    while !inquiry.advance(1 << 30) {}
    inquiry
}
