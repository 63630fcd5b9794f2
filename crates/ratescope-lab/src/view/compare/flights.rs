//! Refused requests on their way: they fly back to their client, who waits and sends them again.
//!
//! The future is to the right of the present. Each client of a lane has a row there. A refused request flies from its
//! cross to that row, and comes closer to the present until it is sent again. Everything follows from the times of the
//! run, so a paused run shows it standing still, and any frame rate shows the same.

use super::Viewport;
use super::layout::Layout;
use crate::compare::{Comparison, Lane};
use crate::plot::{Anchor, Ink, Mark, Point};
use crate::view::label::{disc, small};

/// The most dots of a lane; a number tells of the others.
const DOTS: usize = 36;

/// The radius of a dot in CSS pixels.
const DOT: f64 = 2.5;

/// The share of the window after which a dot is in the middle of its way to the present.
const MIDDLE: f64 = 0.05;

pub(super) fn draw(
    marks: &mut Vec<Mark>,
    layout: &Layout,
    i: usize,
    comparison: &Comparison,
    lane: &Lane,
    view: &Viewport,
) {
    let Some(crowd) = lane.crowd() else { return };
    let now = comparison.now();
    if !view.live || now > view.right {
        return;
    }
    let parts = layout.lane(i);
    let room = layout.width - layout.right - 4.0 * DOT;
    let row = parts.level.height / crowd.clients() as f64;
    let middle = view.window.as_secs_f64() * MIDDLE;
    let mut count = 0;
    for flight in crowd.flights() {
        count += 1;
        if count > DOTS {
            continue;
        }
        // A wait without end would be at the right edge.
        let place = |wait: f64| layout.right + 2.0 * DOT + room * wait / (wait + middle);
        let y = parts.level.y + row * (f64::from(flight.client) + 0.5);
        let at = if now < flight.back && !view.still {
            let flown = flight.back.since(flight.refused);
            let share = now.since(flight.refused) / flown;
            let share = share * (2.0 - share);
            let from = Point::new(
                layout.time.x(flight.refused),
                parts.refused.top + parts.refused.height / 2.0,
            );
            let to = Point::new(place(flight.again.since(flight.back)), y);
            Point::new(from.x + (to.x - from.x) * share, from.y + (to.y - from.y) * share)
        } else {
            Point::new(place(flight.again.since(now.max(flight.back))), y)
        };
        marks.push(disc(at, DOT, Ink::Refused));
    }
    if count > DOTS {
        let text = format!("+{}", count - DOTS);
        let y = parts.allowed.top + parts.allowed.height / 2.0;
        marks.push(small(layout.width - 4.0, y, &text, Ink::Refused, Anchor::End));
    }
}
