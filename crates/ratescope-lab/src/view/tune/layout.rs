//! The layout: the curve, and below it the frontier and the hours, side by side if there is room.

use super::Picture;
use crate::plot::Rect;
use crate::plot::scale::LogScale;
use crate::tune::Burst;
use crate::view::label::LINE;

/// On a canvas narrower than this, in CSS pixels, the pictures are one below the other.
const NARROW: f64 = 720.0;

/// The height of the curve's picture.
const CURVE: f64 = 370.0;

/// The height of the two others.
const BELOW: f64 = 250.0;

/// The height above each plot, for its title and the names of its lines.
const HEAD: f64 = 46.0;

/// The height of the second row of names on a narrow canvas.
const ROW: f64 = 18.0;

/// The height of the text about a limit above the plot of a narrow canvas: within the plot, the text would cover the
/// lines.
const ABOUT: f64 = 84.0;

/// The height below each plot, for its axis.
const FOOT: f64 = 40.0;

/// The height of the tag of the limit, below the curve's plot.
pub(super) const TAGS: f64 = 24.0;

/// The height of the foot of the curve's plot, below the least share. Its lower edge is a share of zero.
const NONE: f64 = 14.0;

/// The widths beside each plot.
const LEFT: f64 = 60.0;
const RIGHT: f64 = 20.0;

/// The height in CSS pixels for a canvas of that width.
pub fn height(width: f64) -> f64 {
    if width < NARROW { CURVE + ABOUT + 2.0 * BELOW } else { CURVE + BELOW }
}

/// The geometry of one picture.
pub(super) struct Layout {
    pub(super) curve: Rect,
    pub(super) frontier: Rect,
    pub(super) hours: Rect,
    pub(super) narrow: bool,
    pub(super) limits: LogScale,
    /// Shares of clients and requests; zero is at the foot of the plot.
    pub(super) shares: LogScale,
    /// Events a second, and events at once.
    pub(super) rates: LogScale,
    pub(super) bursts: LogScale,
}

impl Layout {
    pub(super) fn new(picture: &Picture<'_>, [width, height]: [f64; 2]) -> Self {
        let narrow = width < NARROW;
        let below = height * BELOW / self::height(width);
        let first = height - below * if narrow { 2.0 } else { 1.0 };
        let plot = |x: f64, y: f64, width: f64, height: f64| Rect {
            x: x + LEFT,
            y: y + HEAD,
            width: width - LEFT - RIGHT,
            height: height - HEAD - FOOT,
        };
        let curve = plot(0.0, 0.0, width, first);
        // The text has one more line if clients are marked.
        let about = if picture.stairs().marked > 0 { ABOUT + LINE } else { ABOUT };
        let row = if narrow { ROW + about } else { 0.0 };
        let curve = Rect { y: curve.y + row, height: curve.height - 8.0 - row, ..curve };
        let (frontier, hours) = if narrow {
            (plot(0.0, first, width, below), plot(0.0, first + below, width, below))
        } else {
            let half = width / 2.0;
            (plot(0.0, first, half, below), plot(half, first, half, below))
        };
        let across = |rect: Rect| [rect.x, rect.right()];
        let up = |rect: Rect| [rect.bottom(), rect.y];
        let [rates, bursts] = of_bursts(picture.bursts());
        let [bottom, top] = up(curve);
        Layout {
            curve,
            frontier,
            hours,
            narrow,
            limits: LogScale { domain: limits(picture), range: across(curve) },
            shares: LogScale { domain: [least_share(picture), 1.0], range: [bottom - NONE, top] },
            rates: LogScale { domain: rates, range: across(frontier) },
            bursts: LogScale { domain: bursts, range: up(frontier) },
        }
    }

    /// Tells whether the plots are large enough to draw in.
    pub(super) fn has_room(&self) -> bool {
        [self.curve, self.frontier, self.hours]
            .iter()
            .all(|rect| rect.width > 40.0 && rect.height > 20.0)
    }

    pub(super) fn x(&self, limit: f64) -> f64 {
        self.limits.at(limit)
    }

    /// The y of `some` as a share of `all`.
    pub(super) fn y(&self, some: u64, all: u64) -> f64 {
        match some {
            0 => self.curve.bottom(),
            some => self.shares.at(some as f64 / all.max(1) as f64),
        }
    }

    /// The x and y of a bucket on the frontier's plot.
    pub(super) fn place(&self, burst: &Burst) -> [f64; 2] {
        [self.rates.at(burst.rate.frequency()), self.bursts.at(burst.burst)]
    }

    /// The bucket nearest to a point by x, if the point is on the frontier's plot or within 12 CSS pixels of the plot.
    pub(super) fn burst_at(&self, picture: &Picture<'_>, [x, y]: [f64; 2]) -> Option<Burst> {
        let plot = self.frontier;
        let inside = (plot.x - 12.0..=plot.right() + 12.0).contains(&x)
            && (plot.y - 12.0..=plot.bottom() + 12.0).contains(&y);
        let far = |burst: &Burst| (self.place(burst)[0] - x).abs();
        let nearer = |a: Burst, b: Burst| if far(&b) < far(&a) { b } else { a };
        picture.bursts().iter().copied().filter(|_| inside).reduce(nearer)
    }
}

/// The limits from the lowest that spares a client to the lowest that touches none, with a margin, including the limits
/// to show.
fn limits(picture: &Picture<'_>) -> [f64; 2] {
    let [mut from, mut to] = picture.stairs().ends().unwrap_or([1.0, 10.0]);
    for limit in [picture.limit, picture.data.recommended, picture.data.knee].into_iter().flatten()
    {
        from = from.min(limit);
        to = to.max(limit);
    }
    [from / 1.25, to * 1.4]
}

/// The greatest power of ten at or below the shares of one client, of one request, and of those that replays counted:
/// at most 0.01, so that there are values to read between all and none, and at least 10^-7.
fn least_share(picture: &Picture<'_>) -> f64 {
    let refused = picture.data.counted.iter().map(|[_, refused]| *refused);
    let counted =
        refused.filter(|refused| *refused > 0.0).map(|n| picture.data.requests as f64 / n);
    let all = picture.stairs().clients[0].max(picture.stairs().requests) as f64;
    let all = counted.fold(all, f64::max).clamp(100.0, 1e7);
    let mut least = 0.01;
    while least * all > 1.000_001 {
        least /= 10.0;
    }
    least
}

/// The ranges of rates and of bursts of the frontier.
fn of_bursts(bursts: &[Burst]) -> [[f64; 2]; 2] {
    let ends = |of: fn(&Burst) -> f64, air: f64| {
        let all = bursts.iter().map(of);
        let low = all.clone().fold(f64::INFINITY, f64::min);
        let high = all.fold(0.0, f64::max);
        if low <= high && low > 0.0 { [low / air, high * air] } else { [1.0, 10.0] }
    };
    [ends(|burst| burst.rate.frequency(), 1.4), ends(|burst| burst.burst, 1.4)]
}
