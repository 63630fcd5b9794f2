//! The comparison's graph: a lane for each limiter under one time axis, and the events that all lanes allowed.
//!
//! Time runs to the left, as on the [scope](super::scope). A lane has a strip of crosses for refused events, its level
//! against its limit, and a strip of bars for allowed events. Below the lanes, the count of requests sent is drawn
//! against the counts that each lane allowed.

mod crosshair;
mod feedback;
mod flights;
mod jobs;
mod lanes;
mod layout;
pub(super) mod level;
mod names;
pub(super) mod numbers;
mod totals;
mod trail;

pub use crosshair::{readings, words};
pub use feedback::fates;
pub use jobs::{Job, job, sent};
pub use layout::is_axis;
pub use names::names;
pub use numbers::{next, over, promise, told, waits};

use crate::compare::{Comparison, Lane};
use crate::lane::history::Columns;
use crate::plot::Mark;
use crate::view::Viewport;
use crate::view::timebase::is_narrow;
use layout::Layout;
use ratescope::limit::any::AnyLimiter;
use ratescope::time::{Span, Time};

/// The picture below the lanes and their time axis.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Below {
    /// The cumulative picture: the counts of events sent, and of events that each lane allowed.
    #[default]
    Totals,
    /// None: there is no room, as in a frame of another page.
    Nothing,
}

/// [`head`] on a canvas wide enough for all controls in one row.
const HEAD: f64 = 28.0;

/// The least [`pitch`] with that head.
const PITCH: f64 = 86.0;

/// The least [`pitch`] with that head and nothing [below](Below).
const FRAMED: f64 = 72.0;

/// The greatest [`pitch`] with that head; twice as much with nothing [below](Below). In between, the lanes share the height
/// of the canvas.
const TALL: f64 = 160.0;

/// The height that a narrow canvas adds to the head and the pitch, since the controls take two rows there.
const SECOND_ROW: f64 = 24.0;

/// The empty height above each lane's plot, in CSS pixels, on a canvas of that width: the page lays the lane's controls
/// over it.
pub fn head(width: f64) -> f64 {
    HEAD + if is_narrow(width) { SECOND_ROW } else { 0.0 }
}

/// The distance from lane to lane in CSS pixels, for `lanes` lanes on a canvas of that size.
pub fn pitch(lanes: usize, [width, height]: [f64; 2], below: Below) -> f64 {
    let share = libm::floor((height - layout::foot(lanes, below)) / lanes.max(1) as f64);
    let more = head(width) - HEAD;
    let [least, most] = match below {
        Below::Totals => [PITCH, TALL],
        Below::Nothing => [FRAMED, 2.0 * TALL],
    };
    share.max(least + more).min(most + more)
}

/// The greatest width of a column of the histories, in CSS pixels.
const COLUMN: f64 = 1.5;

/// About how many columns are read to find the top of a scale: fewer than are drawn suffice.
const COLUMNS: f64 = 600.0;

/// All marks, back to front.
pub fn draw(comparison: &Comparison, view: &Viewport) -> Vec<Mark> {
    let layout = Layout::new(comparison.lanes(), view);
    let mut marks = Vec::with_capacity(32 * comparison.lanes().len());
    if !layout.has_room() {
        return marks;
    }
    let columns: Vec<_> = comparison.lanes().iter().map(|lane| columns(lane, &layout)).collect();
    lanes::axis(&mut marks, &layout, view);
    for (i, (lane, columns)) in comparison.lanes().iter().zip(&columns).enumerate() {
        let top = view.tops.get(i).copied().unwrap_or_else(|| top(lane, view.right, view.window));
        lanes::draw(&mut marks, &layout, i, comparison, lane, columns, top, view);
    }
    totals::draw(&mut marks, &layout, comparison, &columns, view);
    feedback::draw(&mut marks, &layout, comparison, view);
    crosshair::draw(&mut marks, &layout, comparison, &columns, view);
    marks
}

/// The columns of a lane in sight.
fn columns<'a>(lane: &'a Lane, layout: &Layout) -> Columns<'a> {
    lane.history().columns(layout.time.from, layout.time.to, COLUMN / layout.time.pace)
}

/// The level for the upper edge of a lane's plot: 5 % above the highest level and 25 % above the highest limit of the
/// window.
pub fn top(lane: &Lane, right: Time, window: Span) -> f64 {
    let mut top: f64 = 0.0;
    let columns =
        lane.history().columns(right.before(window), right, window.as_secs_f64() / COLUMNS);
    for column in columns.iter() {
        for most in [1.25 * column.limit, 1.05 * column.high] {
            top = if most.is_finite() && most > top { most } else { top };
        }
    }
    // Without a limit and without events the plot still needs a scale.
    if top > 0.0 { top } else { 1.0 }
}

/// The count for the upper edge of the cumulative picture: 8 % above the events sent within the window, or above 4.
pub fn total(comparison: &Comparison, right: Time, window: Span) -> f64 {
    let from = right.before(window);
    // With clients, only allowed events are drawn.
    let of = |lane: &Lane| match lane.crowd() {
        None => totals::Count::of_sent(lane, from).until(comparison, lane, right),
        Some(_) => totals::Count::of_allowed(lane, from).until(comparison, lane, right),
    };
    let sent = match totals::elder(comparison) {
        Some((_, lane)) if lane.crowd().is_none() => of(lane),
        _ => comparison.lanes().iter().map(of).max().unwrap_or(0),
    };
    1.08 * (sent as f64).max(4.0)
}

/// The height in CSS pixels for a canvas of that width and `lanes` lanes: as near to `room` as the smallest and the
/// largest lanes allow. Eight of the smallest take at most 900, unless the canvas is narrow.
pub fn height(lanes: usize, [width, room]: [f64; 2], below: Below) -> f64 {
    lanes as f64 * pitch(lanes, [width, room], below) + layout::foot(lanes, below)
}

/// The colour of each lane, as the number of its [ink](crate::plot::Ink::Lane), from 1 to 8. An algorithm has one
/// colour in any place. Of lanes with equal colours, the first keeps its colour and the others take the next free ones;
/// without free ones, they share it.
pub fn colours(lanes: &[Lane]) -> Vec<u8> {
    let mut colours = vec![0; lanes.len()];
    for (i, lane) in lanes.iter().enumerate() {
        let own = own_colour(lane);
        if !colours.contains(&own) {
            colours[i] = own;
        }
    }
    for (i, lane) in lanes.iter().enumerate().filter(|(i, _)| colours[*i] == 0).collect::<Vec<_>>()
    {
        let own = own_colour(lane);
        let next = (0..8).map(|n| (own - 1 + n) % 8 + 1).find(|next| !colours.contains(next));
        colours[i] = next.unwrap_or(own);
    }
    colours
}

/// The colour of the lane's first algorithm.
fn own_colour(lane: &Lane) -> u8 {
    lane.policy().limits().first().map_or(1, |limit| colour(&limit.limiter))
}

/// The number of a limiter's colour, from 1 to 8. Similar limiters, rarely side by side, share a colour.
fn colour(limiter: &AnyLimiter) -> u8 {
    match limiter {
        AnyLimiter::Exim(_) => 1,
        AnyLimiter::Earrrl(_) | AnyLimiter::Adaptive(_) | AnyLimiter::ByHour(_) => 2,
        AnyLimiter::TokenBucket(_) | AnyLimiter::Gcra(_) => 3,
        AnyLimiter::LeakyBucket(_) | AnyLimiter::Nginx(_) => 4,
        AnyLimiter::FixedWindow(_) | AnyLimiter::Envoy(_) => 5,
        AnyLimiter::SlidingWindow(_) | AnyLimiter::Fail2ban(_) => 6,
        AnyLimiter::SlidingCounter(_) | AnyLimiter::Haproxy(_) => 7,
        AnyLimiter::SlidingLog(_) => 8,
        _ => 1,
    }
}
