//! The map of hours: when the limit refuses, by day of the week and time of day.

use super::layout::Layout;
use super::{Picture, Viewport};
use crate::plot::{Anchor, Fill, Ink, Mark, Rect};
use crate::view::label::label;
use ratescope::internal::grouped;

const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];

/// The opacities of the cells, from few refusals to most.
const SHADES: [f64; 5] = [0.18, 0.36, 0.55, 0.76, 1.0];

pub(super) fn draw(marks: &mut Vec<Mark>, layout: &Layout, picture: &Picture<'_>, view: &Viewport) {
    let plot = layout.hours;
    let title = format!("When the limit refuses, {}", picture.data.zone);
    marks.push(label(plot.x - 52.0, plot.y - 30.0, &title, Anchor::Start));
    let across = plot.width / 24.0;
    let down = plot.height / 7.0;
    for (day, i) in DAYS.iter().zip(0..) {
        let y = plot.y + (f64::from(i) + 0.5) * down;
        marks.push(label(plot.x - 8.0, y, day, Anchor::End));
    }
    for hour in (0..=24).step_by(if layout.narrow { 6 } else { 3 }) {
        let x = plot.x + f64::from(hour) * across;
        let text = format!("{hour}h");
        marks.push(label(x, plot.bottom() + 14.0, &text, Anchor::Middle));
    }
    let cell = |day: usize, hour: usize| Rect {
        x: plot.x + hour as f64 * across + 0.75,
        y: plot.y + day as f64 * down + 0.75,
        width: across - 1.5,
        height: down - 1.5,
    };
    let all = (0..7).flat_map(|day| (0..24).map(move |hour| (day, hour)));
    let rects = all.clone().map(|(day, hour)| cell(day, hour)).collect();
    marks.push(Mark::Rects { rects, fill: Fill::new(Ink::Gap, 1.0) });
    let Some(refusals) = &picture.data.refusals else { return };
    let days = &refusals.hours.0;
    let count = |(day, hour): (usize, usize)| {
        days.get(day).and_then(|hours| hours.get(hour)).copied().unwrap_or(0)
    };
    let most = all.clone().map(count).max().unwrap_or(0);
    for (opacity, i) in SHADES.into_iter().zip(0..) {
        let rects: Vec<Rect> = all
            .clone()
            .filter(|at| shade(count(*at), most) == Some(i))
            .map(|(day, hour)| cell(day, hour))
            .collect();
        if !rects.is_empty() {
            marks.push(Mark::Rects { rects, fill: Fill::new(Ink::Refused, opacity) });
        }
    }
    let pointed = view.pointer.and_then(|[x, y]| {
        let day = (y - plot.y) / down;
        let hour = (x - plot.x) / across;
        let inside = (0.0..7.0).contains(&day) && (0.0..24.0).contains(&hour);
        inside.then_some((day as usize, hour as usize))
    });
    let said = match pointed {
        Some(at @ (day, hour)) => {
            let day = DAYS.get(day).copied().unwrap_or("");
            format!("{day} {hour} to {} h: {}", hour + 1, grouped(count(at)))
        }
        None if !refusals.done => "still counting".to_owned(),
        None if most == 0 => "nothing is refused".to_owned(),
        None => format!("darkest: {} in an hour", grouped(most)),
    };
    marks.push(label(plot.right(), plot.y - 12.0, &said, Anchor::End));
}

/// The shade of a count, as an index into [`SHADES`]; `None` for 0.
fn shade(n: u64, most: u64) -> Option<usize> {
    let share = n as f64 / most.max(1) as f64;
    (n > 0).then(|| ((share * 5.0) as usize).min(4))
}
