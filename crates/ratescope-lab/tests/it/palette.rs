//! Colours that everybody can tell apart and read.

use ratescope_lab::plot::Ink;
use ratescope_lab::plot::palette::Theme;

/// Red, green and blue as light, 0 to 1 (IEC 61966-2-1).
fn light(hex: &str) -> [f64; 3] {
    [1, 3, 5].map(|i| {
        let c = f64::from(u8::from_str_radix(&hex[i..i + 2], 16).unwrap()) / 255.0;
        if c <= 0.04045 { c / 12.92 } else { ((c + 0.055) / 1.055).powf(2.4) }
    })
}

fn luminance([r, g, b]: [f64; 3]) -> f64 {
    0.2126 * r + 0.7152 * g + 0.0722 * b
}

/// WCAG 2.2, "contrast ratio".
fn contrast(a: &str, b: &str) -> f64 {
    let (a, b) = (luminance(light(a)), luminance(light(b)));
    (a.max(b) + 0.05) / (a.min(b) + 0.05)
}

/// The colours of the lanes.
fn lanes() -> impl Iterator<Item = Ink> {
    (1..=8).map(Ink::Lane)
}

#[test]
fn everything_stands_out_from_the_panel() {
    // Tags have text in the colour of the panel on the colour of their line: the same ratio.
    const TEXT: [Ink; 10] = [
        Ink::Text,
        Ink::Muted,
        Ink::Rate,
        Ink::Smoothed,
        Ink::Limit,
        Ink::Allowed,
        Ink::Refused,
        Ink::Bucket,
        Ink::Mean,
        Ink::Recent,
    ];
    const LINES: [Ink; 3] = [Ink::Axis, Ink::Exact, Ink::Crosshair];
    for theme in [Theme::Light, Theme::Dark] {
        let ratio = |ink, on| contrast(theme.colour(ink), theme.colour(on));
        for on in [Ink::Panel, Ink::Gap] {
            for ink in TEXT.into_iter().chain(lanes()) {
                assert!(ratio(ink, on) >= 4.5, "{theme:?} {ink:?} on {on:?}: {}", ratio(ink, on));
            }
            for ink in LINES {
                assert!(ratio(ink, on) >= 3.0, "{theme:?} {ink:?} on {on:?}: {}", ratio(ink, on));
            }
        }
        // Lines that only help the eye are seen, and no more than that.
        for ink in [Ink::Grid, Ink::Gap] {
            assert!((1.1..1.5).contains(&ratio(ink, Ink::Panel)), "{theme:?} {ink:?}");
        }
    }
}

/// How light looks to normal sight and to people without red, green or blue cones (Machado,
/// Oliveira and Fernandes, "A physiologically-based model for simulation of color vision
/// deficiency", IEEE TVCG 15, 2009, severity 1).
const SIGHTS: [[[f64; 3]; 3]; 4] = [
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]],
    [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.011820, 0.042940, 0.968881],
    ],
    [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.303900],
    ],
];

/// CIE 1976 L*a*b* under D65, in which a distance of 2.3 is just seen.
fn lab([r, g, b]: [f64; 3]) -> [f64; 3] {
    let xyz = [
        (0.4124564 * r + 0.3575761 * g + 0.1804375 * b) / 0.95047,
        luminance([r, g, b]),
        (0.0193339 * r + 0.1191920 * g + 0.9503041 * b) / 1.08883,
    ];
    let [x, y, z] = xyz.map(|v| if v > 0.008856 { v.cbrt() } else { 7.787 * v + 16.0 / 116.0 });
    [116.0 * y - 16.0, 500.0 * (x - y), 200.0 * (y - z)]
}

fn distance(a: &str, b: &str, sight: [[f64; 3]; 3]) -> f64 {
    let seen = |hex| {
        let light = light(hex);
        lab(sight.map(|row| (0..3).map(|i| row[i] * light[i]).sum::<f64>().clamp(0.0, 1.0)))
    };
    let (a, b) = (seen(a), seen(b));
    (0..3).map(|i| (a[i] - b[i]).powi(2)).sum::<f64>().sqrt()
}

#[test]
fn the_lines_stay_apart_without_one_kind_of_cone() {
    let pairs = [
        (Ink::Rate, Ink::Smoothed),
        (Ink::Rate, Ink::Limit),
        (Ink::Smoothed, Ink::Limit),
        (Ink::Allowed, Ink::Refused),
    ];
    for theme in [Theme::Light, Theme::Dark] {
        for (a, b) in pairs {
            for sight in SIGHTS {
                let apart = distance(theme.colour(a), theme.colour(b), sight);
                assert!(apart > 18.0, "{theme:?} {a:?} {b:?}: {apart}");
            }
        }
    }
}

/// The thin lines have names and marks of their own, and are still no neighbours of any other.
#[test]
fn the_thin_lines_stay_apart_without_one_kind_of_cone() {
    let thin = [Ink::Bucket, Ink::Mean, Ink::Recent];
    let others = [Ink::Rate, Ink::Smoothed, Ink::Limit, Ink::Exact];
    for theme in [Theme::Light, Theme::Dark] {
        for (i, &a) in thin.iter().enumerate() {
            for &b in thin[..i].iter().chain(&others) {
                for sight in SIGHTS {
                    let apart = distance(theme.colour(a), theme.colour(b), sight);
                    assert!(apart > 12.0, "{theme:?} {a:?} {b:?}: {apart}");
                }
            }
        }
    }
}

#[test]
fn the_lanes_stay_apart_without_one_kind_of_cone() {
    for theme in [Theme::Light, Theme::Dark] {
        for a in 1..=8 {
            for b in a + 1..=8 {
                for sight in SIGHTS {
                    let colour = |number| theme.colour(Ink::Lane(number));
                    let apart = distance(colour(a), colour(b), sight);
                    assert!(apart > 18.0, "{theme:?} {a} {b}: {apart}");
                }
            }
        }
    }
}

#[test]
fn the_ninth_lane_looks_as_the_first() {
    for theme in [Theme::Light, Theme::Dark] {
        for (again, first) in [(9, 1), (12, 4), (16, 8), (0, 8), (255, 7)] {
            assert_eq!(theme.colour(Ink::Lane(again)), theme.colour(Ink::Lane(first)));
        }
    }
}
