//! SCENARIOS.md has every scenario of the page as the page has it, with its picture.

use crate::committed::committed;
use crate::picture::golden;
use crate::recorded::compared;
use crate::scenarios::{Scenario, listed};
use ratescope::Time;
use ratescope_lab::plot::palette::Theme;
use ratescope_lab::plot::{Ink, Mark, svg};
use ratescope_lab::scope::{self, Scope};
use ratescope_lab::view::compare::Below;
use ratescope_lab::view::{self, Viewport};

const WIDTH: f64 = 720.0;

/// The scenarios that the chapter "Over many machines" shows.
const IN_THE_GUIDE: [&str; 2] = ["Two data centres", "A flood at forty processes"];

const HEAD: &str = "# Scenarios

Runs that show where limiters differ, each at its end. The pictures are drawn by the code that draws the page. Where
`./scripts/demo` serves the page, a title plays its run.
";

/// A picture and its words for who does not see it.
pub(crate) struct Drawn {
    pub(crate) marks: Vec<Mark>,
    pub(crate) size: [f64; 2],
    pub(crate) alt: String,
}

/// The run of a scenario of the Scope, at its end.
fn on_the_scope(scenario: &Scenario, width: f64) -> Drawn {
    let link: scope::Link = scenario.fragment.parse().unwrap();
    let mut run = Scope::open(&link).unwrap();
    run.advance(link.at, usize::MAX);
    let (right, window) = (run.now(), run.settings().common.window);
    let view = Viewport {
        size: [width, 300.0],
        right,
        live: true,
        window,
        own_time: true,
        flags: &scenario.flags,
        top: view::scope::top(&run, right, window),
        ..Viewport::default()
    };
    let [allowed, refused] = [run.instrument().allowed(), run.instrument().refused()];
    Drawn {
        marks: view::scope::draw(&run, &view),
        size: view.size,
        alt: format!("The Scope: {allowed} allowed, {refused} refused."),
    }
}

/// The run of a scenario of Compare, at its end.
fn on_compare(scenario: &Scenario, width: f64) -> Drawn {
    in_lanes(&scenario.fragment, &scenario.flags, [width, 0.0], Below::Totals)
}

/// The run of a link to Compare, at its end, on a canvas of that width and at least that height.
pub(crate) fn in_lanes(link: &str, flags: &[Time], [width, room]: [f64; 2], below: Below) -> Drawn {
    let run = compared(link);
    let (right, window) = (run.now(), run.settings().common.window);
    let view = Viewport {
        size: [width, view::compare::height(run.lanes().len(), [width, room], below)],
        below,
        right,
        live: true,
        window,
        own_time: true,
        flags,
        top: view::compare::total(&run, right, window),
        ..Viewport::default()
    };
    let mut marks = view::compare::draw(&run, &view);
    marks.extend(view::compare::names(&run, &view, true));
    let lanes = run.lanes().iter();
    let passed: Vec<_> =
        lanes.map(|lane| format!("{} by {}", lane.allowed(), lane.limiters(false))).collect();
    let alt =
        format!("{} events, of which pass: {}.", view::compare::sent(&run), passed.join(", "));
    Drawn { marks, size: view.size, alt }
}

/// A picture as a part of a page of the documentation: as narrow as the page, and with words for who does not see it.
pub(crate) fn on_a_page(picture: &str, alt: &str) -> String {
    let alt = alt.replace('&', "&amp;");
    let picture = picture.strip_prefix("<svg ").unwrap();
    let (head, marks) = picture.split_once('\n').unwrap();
    format!(
        "<svg role=\"img\" style=\"max-width: 100%; height: auto\" {head}\n<title>{alt}</title>\n{marks}"
    )
}

/// The name of a scenario's files: the letters of its title, with a `-` for the rest between them.
fn file_name(title: &str) -> String {
    let words = title.split(|c: char| !c.is_alphanumeric() && c != '’');
    let words: Vec<_> = words.filter(|word| !word.is_empty()).collect();
    words.join("-").replace('’', "").to_lowercase()
}

/// The pictures have one theme, so that all of them together stay small.
#[test]
fn every_scenario_is_in_the_paper() {
    let mut paper = HEAD.to_owned();
    let mut bytes = 0;
    for (heading, page) in [("Scope", "index.html"), ("Compare", "compare.html")] {
        paper += &format!("\n## {heading}\n");
        for scenario in listed(page) {
            let Drawn { marks, size: [width, height], alt } = match heading {
                "Scope" => on_the_scope(&scenario, WIDTH),
                _ => on_compare(&scenario, WIDTH),
            };
            let Scenario { title, text, fragment, .. } = &scenario;
            let name = format!("scenarios/{}.svg", file_name(title));
            let picture = svg::write(&marks, width, height, Theme::Light);
            golden(&name, &picture);
            if IN_THE_GUIDE.contains(&title.as_str()) {
                // A crate in a registry has no folders above it.
                let name = format!("../../crates/ratescope/src/guide/{}.svg", file_name(title));
                golden(&name, &on_a_page(&picture, &alt));
            }
            bytes += picture.len();
            let opens = format!("http://127.0.0.1:8080/{page}#{fragment}");
            paper +=
                &format!("\n### [{title}]({opens})\n\n{text}\n\n![{alt}](tests/plots/{name})\n");
        }
    }
    assert!(bytes <= 900_000, "{bytes}");
    let want = committed("../../SCENARIOS.md", &paper);
    assert!(paper == want, "SCENARIOS.md is another; look, then delete it to accept:\n{paper}");
}

/// The times of flags stay apart from each other, and by their poles, also on a phone.
#[test]
fn no_two_times_of_flags_touch() {
    for (page, draw) in
        [("index.html", on_the_scope as fn(&Scenario, f64) -> Drawn), ("compare.html", on_compare)]
    {
        for scenario in listed(page) {
            for width in [304.0, 344.0, 374.0, WIDTH] {
                let marks = draw(&scenario, width).marks;
                let tags = marks.iter().filter_map(|mark| match mark {
                    Mark::Rounded { rect, fill, .. } if fill.ink == Ink::Crosshair => Some(*rect),
                    _ => None,
                });
                let tags: Vec<_> = tags.collect();
                assert_eq!(tags.len(), scenario.flags.len(), "{}", scenario.title);
                for pair in tags.windows(2) {
                    let gap = pair[1].x - pair[0].right();
                    assert!(gap > 5.9, "{} at {width}: {gap}", scenario.title);
                }
                assert!(tags.iter().all(|tag| tag.x >= 0.0 && tag.right() <= width));
            }
        }
    }
}
