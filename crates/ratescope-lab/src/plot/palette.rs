//! The colour of each ink in the light and in the dark theme, for the page's style sheet and for SVG files.
//!
//! On the panel, lines have a contrast of at least 3. Inks for text, and inks behind text, have a contrast of at least
//! 4.5 (WCAG 2.2, success criteria 1.4.11 and 1.4.3). The lines differ visibly from each other with each of the three
//! kinds of colour blindness; so do allowed and refused, and any two of the eight lanes. Tests compute the contrasts
//! and the differences.

use super::Ink;

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Theme {
    /// Dark on light.
    Light,
    /// Light on dark.
    Dark,
}

/// The colours of lanes 1 to 8: light, dark. A search within 20 degrees of eight hues maximized the smallest
/// difference between any two, as seen with normal sight and with the three kinds of colour blindness.
const LANES: [[&str; 2]; 8] = [
    ["#016add", "#78b3ff"],
    ["#a25b41", "#ce7728"],
    ["#1e4100", "#9de998"],
    ["#4e178c", "#9975fe"],
    ["#7a0035", "#ca958f"],
    ["#026160", "#0ae6f2"],
    ["#806c00", "#eed85d"],
    ["#bf2f9e", "#f955b6"],
];

impl Theme {
    /// The colour of an ink, as in `#c2321f`.
    pub const fn colour(self, ink: Ink) -> &'static str {
        let [light, dark] = match ink {
            Ink::Panel => ["#ffffff", "#151c23"],
            Ink::Grid => ["#e5e9ee", "#232d37"],
            Ink::Axis => ["#77838f", "#6b7885"],
            Ink::Text => ["#17212b", "#e4eaf0"],
            Ink::Muted => ["#55626f", "#9aa8b5"],
            Ink::Rate => ["#c2321f", "#ff7a66"],
            Ink::Smoothed => ["#1f63b5", "#6cb2f7"],
            Ink::Exact => ["#7d8894", "#7d8a97"],
            Ink::Bucket => ["#0b514f", "#40febf"],
            Ink::Mean => ["#615e0c", "#e9ba14"],
            Ink::Recent => ["#850144", "#f837cd"],
            Ink::Limit => ["#4a2a75", "#e2d0ff"],
            Ink::Allowed => ["#0f766e", "#7ad9c6"],
            Ink::Refused => ["#a8144e", "#f2558a"],
            Ink::Crosshair => ["#3b4754", "#c3ced8"],
            Ink::Gap => ["#eef1f4", "#1d2730"],
            Ink::Lane(number) => LANES[(number as usize + LANES.len() - 1) % LANES.len()],
        };
        match self {
            Theme::Light => light,
            Theme::Dark => dark,
        }
    }
}
