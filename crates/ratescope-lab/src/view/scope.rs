//! The scope's graph: the red and the blue line, every event, the limit, and the values under the crosshair.
//!
//! Time runs to the left; the right edge is the present, or an instant to which the viewer looks back. The scale is in
//! events per decay interval, as in Exim. The layout is in events per second, so that a change of the decay interval
//! moves numbers, not lines.

mod axes;
mod crosshair;
mod events;
mod feedback;
mod ghost;
mod layout;
mod lines;
mod memory;
mod models;
mod outlook;
mod tags;
mod terms;
mod turned;

pub use crosshair::words;
pub use feedback::fates;
pub use memory::words as memory;
pub use models::{at as shown_models, models};
pub use outlook::outlook;
pub use tags::limit_text;
pub use terms::Term;

use crate::plot::Mark;
use crate::scope::Scope;
use crate::view::{Hit, Viewport, compare};
use layout::Layout;
use ratescope::time::{Span, Time};

/// All marks, back to front.
pub fn draw(scope: &Scope, view: &Viewport) -> Vec<Mark> {
    let layout = Layout::new(scope, view);
    let mut marks = Vec::with_capacity(64);
    if layout.plot.width <= 0.0 || layout.plot.height <= 0.0 {
        return marks;
    }
    let columns = scope.instrument().trace().columns(
        layout.time.from,
        layout.time.to,
        1.0 / layout.time.pace,
    );
    let tags = tags::place(&layout, scope, view);
    axes::draw(&mut marks, &layout, view);
    lines::draw(&mut marks, &layout, &columns, scope, view);
    if scope.settings().ghost && scope.instrument().lane().is_none() {
        ghost::draw(&mut marks, &layout, scope);
    }
    events::draw(&mut marks, &layout, &columns, view);
    memory::draw(&mut marks, &layout, scope, view);
    tags::draw(&mut marks, &layout, &tags, scope);
    turned::flags(&mut marks, &layout, scope);
    if let Some(term) = view.term {
        terms::draw(&mut marks, &layout, scope, term);
    }
    feedback::draw(&mut marks, &layout, scope, view);
    crosshair::draw(&mut marks, &layout, scope, view);
    marks
}

/// The events per second for the upper edge: 18 % above the highest of the red line in the `window` up to `right`, the
/// limit, one event per decay interval and, if drawn, the exact count and the thin lines except the mean. With a lane,
/// the lane's own [top](compare::top) replaces the limit.
pub fn top(scope: &Scope, right: Time, window: Span) -> f64 {
    let exact = scope.settings().exact;
    let instrument = scope.instrument();
    let per_second = 1.0 / scope.settings().decay.as_secs_f64();
    let from = right.before(window);
    let mut seen: f64 = 0.0;
    for column in instrument.trace().columns(from, right, window.as_secs_f64() / COLUMNS) {
        // From the column before the left edge, only the rate that remains at the edge counts.
        let entering = column.last() < from;
        seen = seen.max(if entering { column.end.rate_at(from) } else { column.rate.high });
    }
    let seen = if exact { seen.max(busiest(scope, from, right)) } else { seen };
    let seen = match instrument.models() {
        Some(models) => {
            let step = window.as_secs_f64() / COLUMNS;
            seen.max(models::top(models, scope.settings(), [from, right], step))
        }
        None => seen,
    };
    // Without events and a limit, the scale has room for one event per decay interval.
    let seen = 1.18 * seen.max(per_second);
    match instrument.lane() {
        Some(lane) => seen.max(compare::top(lane, right, window) * per_second),
        None => seen.max(1.18 * scope.settings().limit * per_second),
    }
}

/// The highest exact count of a decay interval, in events per second.
fn busiest(scope: &Scope, from: Time, to: Time) -> f64 {
    let instrument = scope.instrument();
    let trace = instrument.trace();
    let period = instrument.period();
    let mut most = 0;
    for column in trace.columns(from, to, to.since(from) / COLUMNS) {
        let at = column.last().min(to);
        let [count, before] = [at, at.before(period)].map(|at| trace.total_at(at));
        if let (Some((count, _)), Some((before, _))) = (count, before) {
            most = most.max(count - before);
        }
    }
    most as f64 / period.as_secs_f64()
}

/// About how many columns are read to find the top: fewer than are drawn suffice.
const COLUMNS: f64 = 600.0;

/// Tells whether the time axis of a canvas of that size is at the height `y`.
pub fn is_axis(size: [f64; 2], y: f64) -> bool {
    y > layout::strips(size[1]) + 2.0 * layout::STRIP
}

/// Finds the target at a point of the canvas; a finger, `touch`, points less precisely than a mouse.
pub fn hit(scope: &Scope, view: &Viewport, x: f64, y: f64, touch: bool) -> Hit {
    let layout = Layout::new(scope, view);
    let reach = if touch { 16.0 } else { 6.0 };
    let inside = layout.plot.x <= x && x <= layout.plot.right();
    // All of the canvas is the button, except the time axis.
    if is_axis(view.size, y) || !(0.0..=view.size[1]).contains(&y) {
        return Hit::None;
    }
    let on_line = (y - layout.limit_y()).abs() <= reach;
    // The tag at the left is a handle as well. A touch grabs the limit only there: on the line, it makes an event.
    let handle = x < layout.plot.x;
    if layout.has_limit() && layout.moves && on_line && (handle || (inside && !touch)) {
        Hit::Limit
    } else {
        Hit::Graph
    }
}

/// The limit, in events per decay interval, with its line at `y`; a `y` beyond the plot counts as the nearest edge. The
/// limit is rounded to a multiple of a step: the least power of ten that is at least a CSS pixel high. It is at least
/// one step, since a limit of 0 would leave no line to drag back.
pub fn limit_at(scope: &Scope, view: &Viewport, y: f64) -> f64 {
    let layout = Layout::new(scope, view);
    let per_pixel = layout.per_decay(view.top) / layout.plot.height;
    let mut step = 1e-6;
    while step < per_pixel {
        step *= 10.0;
    }
    let limit = libm::round(layout.per_decay(layout.rate_at(y.max(layout.plot.y))) / step) * step;
    // Otherwise the product may read 0.30000000000000004.
    (libm::round(limit * 1e6) / 1e6).max(step)
}
