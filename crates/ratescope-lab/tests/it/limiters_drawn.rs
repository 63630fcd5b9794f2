//! The page of each limiter in the documentation has the same parts, and a picture of its decisions about the same
//! events.

use crate::picture::golden;
use crate::scenarios_drawn::{Drawn, in_lanes, on_a_page};
use ratescope_lab::plot::palette::Theme;
use ratescope_lab::plot::svg;
use ratescope_lab::view::compare::Below;
use std::fs;

/// A burst, a steady stretch, too fast, silence, and one more.
const EVENTS: &str = "limit=5/5s&auto=off&window=20s&at=20&script=8 at 1s,1/1s from 3s to 9s,\
    4/1s from 9s to 13s,1 at 18s";

/// The module of each limiter, and its lane in the picture.
const LIMITERS: [(&str, &str); 15] = [
    ("fixed_window", "fixed-window"),
    ("sliding_window", "sliding-window precision 1s"),
    ("sliding_counter", "sliding-counter"),
    ("sliding_log", "sliding-log"),
    ("token_bucket", "token-bucket"),
    ("gcra", "gcra"),
    ("leaky_bucket", "leaky-bucket"),
    ("exim", "exim strict"),
    ("earrrl", "earrrl half-life 5s"),
    ("adaptive", "adaptive x3 decay 5s increase 20s floor 5"),
    ("by_hour", "adaptive x5 decay 5s increase 4m floor 5 by hour day 2m"),
    ("nginx", "nginx 1/1s burst 4 nodelay"),
    ("haproxy", "haproxy"),
    ("envoy", "envoy burst 5"),
    ("fail2ban", "fail2ban ban 5s"),
];

fn docs(file: &str) -> String {
    let docs = format!("{}/../ratescope/src/{file}", env!("CARGO_MANIFEST_DIR"));
    fs::read_to_string(&docs).unwrap_or_else(|error| panic!("{docs}: {error}"))
}

#[test]
fn every_limiter_is_in_the_list() {
    let docs = docs("limit.rs");
    let rows = docs.lines().filter_map(|line| line.strip_prefix("//! | [`")?.split('`').next());
    assert_eq!(rows.collect::<Vec<_>>(), LIMITERS.map(|(module, _)| module));
}

#[test]
fn every_page_has_its_picture() {
    for (module, lane) in LIMITERS {
        let link = format!("{EVENTS}&lanes={lane}");
        let Drawn { marks, size: [width, height], alt } =
            in_lanes(&link, &[], [640.0, 126.0], Below::Nothing);
        let picture = svg::write(&marks, width, height, Theme::Light);
        let picture = on_a_page(&picture, &alt);
        golden(&format!("../../crates/ratescope/src/limit/pictures/{module}.svg"), &picture);
        assert!(picture.len() < 8000, "{module}: {} bytes", picture.len());
        // With a blank line in it, the rest would be text of the page.
        assert!(!picture.contains("\n\n"), "{module}");
    }
}

#[test]
fn every_page_says_the_same_things_at_a_glance() {
    for (module, _) in LIMITERS {
        let docs = docs(&format!("limit/{module}.rs"));
        let picture = format!("#![doc = include_str!(\"pictures/{module}.svg\")]\n");
        assert!(docs.contains(&picture), "{module}");
        let (_, glance) = docs.split_once("//! # At a glance\n").expect(module);
        let list = glance.lines().take_while(|line| *line != "//!");
        let heads = list.filter_map(|line| line.strip_prefix("//! * **")?.split(":**").next());
        let heads: Vec<_> = heads.collect();
        assert!(
            heads.starts_with(&["For", "Against", "Memory", "Elsewhere"]),
            "{module}: {heads:?}"
        );
        assert!(heads[4..].iter().all(|head| *head == "Wrong in articles"), "{module}: {heads:?}");
    }
}
