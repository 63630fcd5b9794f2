//! Pictures as SVG files, held by those in tests/plots.

#![allow(dead_code, unreachable_pub)] // Each test file uses its part.

use crate::committed::committed;
use ratescope_lab::plot::palette::Theme;
use ratescope_lab::plot::{Ink, Mark, svg};

/// Compares with the committed picture of that name.
#[track_caller]
pub fn golden(name: &str, got: &str) {
    // The page shows two of them itself.
    let path = match name.strip_prefix("tune-bucket-").map(|theme| format!("tune-{theme}")) {
        Some(name) => format!("../../www/pictures/{name}"),
        None if name.starts_with("live-") => format!("../../www/pictures/{name}"),
        None => format!("../../tests/plots/{name}"),
    };
    let want = committed(&path, got);
    assert!(got == want, "{name} is drawn otherwise; look, then delete it to accept:\n{got}");
}

/// Compares a picture with `name`-light.svg; in dark it is the same but for the colours. Those that the
/// README shows are there in dark as well.
#[track_caller]
pub fn in_both_themes(name: &str, marks: &[Mark], [width, height]: [f64; 2]) {
    let [light, dark] =
        [Theme::Light, Theme::Dark].map(|theme| svg::write(marks, width, height, theme));
    golden(&format!("{name}-light.svg"), &light);
    assert!(dark == darkened(&light), "{name} in dark has more than other colours:\n{dark}");
    if ["compare-eight", "live", "tune-bucket"].contains(&name) {
        golden(&format!("{name}-dark.svg"), &dark);
    }
}

/// A picture with the colours of the dark theme in place of the light one's.
fn darkened(light: &str) -> String {
    let mut pieces = light.split('#');
    let mut dark = pieces.next().unwrap().to_owned();
    for piece in pieces {
        let rest = |ink: &Ink| piece.strip_prefix(&Theme::Light.colour(*ink)[1..]);
        match INKS.iter().find_map(|ink| Some((ink, rest(ink)?))) {
            Some((ink, rest)) => dark.extend([Theme::Dark.colour(*ink), rest]),
            None => dark.extend(["#", piece]), // a reference
        }
    }
    dark
}

const INKS: [Ink; 24] = [
    Ink::Panel,
    Ink::Grid,
    Ink::Axis,
    Ink::Text,
    Ink::Muted,
    Ink::Rate,
    Ink::Smoothed,
    Ink::Exact,
    Ink::Bucket,
    Ink::Mean,
    Ink::Recent,
    Ink::Limit,
    Ink::Allowed,
    Ink::Refused,
    Ink::Crosshair,
    Ink::Gap,
    Ink::Lane(1),
    Ink::Lane(2),
    Ink::Lane(3),
    Ink::Lane(4),
    Ink::Lane(5),
    Ink::Lane(6),
    Ink::Lane(7),
    Ink::Lane(8),
];
