//! Pictures as SVG files, one for each view and theme; tests of the marks hold all else that they show.

#![allow(dead_code, unreachable_pub)] // Each test file uses its part.

use crate::committed::committed;
use ratescope_lab::plot::palette::Theme;
use ratescope_lab::plot::{Mark, svg};

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
    assert!(got == want, "{name} is drawn otherwise; look, then empty it to accept:\n{got}");
}

/// Compares a picture with `name`-light.svg and `name`-dark.svg.
#[track_caller]
pub fn in_both_themes(name: &str, marks: &[Mark], [width, height]: [f64; 2]) {
    for (suffix, theme) in [("light", Theme::Light), ("dark", Theme::Dark)] {
        golden(&format!("{name}-{suffix}.svg"), &svg::write(marks, width, height, theme));
    }
}
