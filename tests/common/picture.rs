//! Pictures as SVG files, held by those in tests/plots.

#![allow(dead_code, unreachable_pub)] // Each test file uses its part.
#![allow(clippy::unwrap_used)]

use ratescope::plot::palette::Theme;
use ratescope::plot::{Mark, svg};
use std::path::Path;

/// Compares with tests/plots/`name`. Where that is missing it is written, except in CI.
#[track_caller]
pub fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plots").join(name);
    if !path.exists() && std::env::var_os("CI").is_none() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, got).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap();
    assert!(got == want, "{name} is drawn otherwise; look, then delete it to accept:\n{got}");
}

/// Compares a picture with `name`-light.svg and `name`-dark.svg.
#[track_caller]
pub fn in_both_themes(name: &str, marks: &[Mark], [width, height]: [f64; 2]) {
    for (theme, word) in [(Theme::Light, "light"), (Theme::Dark, "dark")] {
        golden(&format!("{name}-{word}.svg"), &svg::write(marks, width, height, theme));
    }
}
