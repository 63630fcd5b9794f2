//! The answer as a picture: that of the page.

use super::answer::Answer;
use ratescope::plot::{palette::Theme, svg};
use ratescope::view::tune::{Picture, Refusals, Viewport, draw, height};

/// As wide as a page on a large screen, in CSS pixels.
const WIDTH: f64 = 1200.0;

/// An SVG file; none without a curve.
pub(crate) fn write(answer: &Answer<'_>) -> Option<String> {
    let (_, curve, advice) = answer.periods.first()?;
    let steps = curve.steps();
    let rows = answer.rows.iter().filter(|_| !curve.measure.counts_all());
    let counted: Vec<[f64; 2]> = rows.map(|row| [row.limit, row.refused as f64]).collect();
    let clients = &answer.summary.clients;
    let picture = Picture {
        measure: curve.measure,
        steps: &steps,
        counted: &counted,
        requests: clients.requests(),
        limit: advice.limit,
        recommended: advice.limit,
        knee: advice.knee,
        bursts: &answer.frontier.bursts,
        rate: answer.tightest.map(|burst| burst.rate),
        zone: answer.clock.zone(),
        refusals: answer.replay.as_ref().map(|replay| Refusals {
            hours: replay.hours(),
            refused: replay.refused(),
            touched: replay.touched(clients).touched,
            done: true,
        }),
    };
    let view = Viewport { size: [WIDTH, height(WIDTH)], ..Viewport::default() };
    let [width, height] = view.size;
    Some(svg::write(&draw(&picture, &view), width, height, Theme::Light))
}
