//! A click of the viewer, while it is seen to land. A dot flies from the pointer to the present, where the event is. An
//! allowed one then falls from the line to its mark; a refused one bounces off the limit and falls as a cross. The line
//! itself has jumped at once: no picture is late for the sake of a flight.

use super::Viewport;
use super::label::{LINE, SIZE, bold, disc, panel, width};
use crate::plot::{Anchor, Fill, Ink, Mark, Point, Rect, Stroke};
use ratescope::time::Time;

/// The time for which a click is seen, in milliseconds.
pub const SEEN: f64 = 1000.0;

/// The duration of the flight to the present, and of the fall to the mark, in milliseconds.
const FLIGHT: f64 = 160.0;
const FALL: f64 = 200.0;

/// The radius of a flying dot, and half the size of a falling cross, in CSS pixels.
const DOT: f64 = 4.5;

/// How far a refused event bounces back and up, in CSS pixels.
const BOUNCE: [f64; 2] = [18.0, 22.0];

/// The height of the words' box in CSS pixels.
const HIGH: f64 = LINE + 5.0;

/// The distance of that box from the pointer, and its least distance above the pointer, in CSS pixels.
const AWAY: f64 = 14.0;
const NEAR: f64 = 4.0;

/// The first and the last radius of the ring around a new mark, in CSS pixels.
const RING: [f64; 2] = [6.0, 14.0];

/// A click, or a key that makes an event.
#[derive(Clone, Debug, PartialEq)]
pub struct Click {
    /// The instant of its event.
    pub at: Time,
    /// The place of the pointer, in CSS pixels; `None` for a key.
    pub from: Option<[f64; 2]>,
    /// When the viewer clicked, in milliseconds.
    pub wall: f64,
    /// The decisions.
    pub fates: Fates,
}

/// The decisions about the event of a click.
#[derive(Clone, Debug, PartialEq)]
pub struct Fates {
    /// The verdict, as in `refused now: 11.6 of 10`: the event is in the present, even with the pointer in the past.
    pub words: String,
    /// The fate of the event in each plot.
    pub each: Vec<Fate>,
}

/// The fate of an event in a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Fate {
    /// The limiter allowed the event.
    pub allowed: bool,
    /// The level with the event, or the limit that refused it, in the unit of the plot.
    pub level: f64,
}

/// The place of a fate in a picture, in CSS pixels from the top.
#[derive(Clone, Copy, Debug)]
pub(super) struct Place {
    /// The level or the limit.
    pub(super) line: f64,
    pub(super) mark: f64,
    pub(super) ink: Ink,
}

impl Click {
    /// Tells whether the click is still seen at the viewer's time `wall`.
    pub fn is_seen(&self, wall: f64) -> bool {
        wall - self.wall < SEEN
    }

    /// Milliseconds since its dot took off; a key has no flight, and begins with the fall.
    fn phase(&self, wall: f64) -> f64 {
        wall - self.wall + if self.from.is_some() { 0.0 } else { FLIGHT }
    }
}

impl Viewport<'_> {
    /// How many events of clicks between two instants still fly to the plot with the number `plot`: those that its
    /// limiter allowed, or those that it refused.
    pub(super) fn flying(&self, plot: usize, allowed: bool, [from, to]: [Time; 2]) -> u32 {
        if self.still {
            return 0;
        }
        let is = |click: &&super::Click| {
            let fate = click.fates.each.get(plot);
            click.phase(self.wall) < FLIGHT + FALL
                && from <= click.at
                && click.at <= to
                && fate.is_some_and(|fate| fate.allowed == allowed)
        };
        self.clicks.iter().filter(is).count() as u32
    }
}

/// Draws all clicks: `x` is the place of an instant, and `place` that of a fate in the plot of a number. With reduced
/// motion nothing flies, and the last click has its words, in one of the strips `rooms`, which the page lays nothing over.
pub(super) fn draw(
    marks: &mut Vec<Mark>,
    view: &Viewport,
    x: &dyn Fn(Time) -> f64,
    place: &dyn Fn(usize, &Fate) -> Place,
    rooms: &[[f64; 2]],
) {
    let places = |click: &Click| -> Vec<(Fate, Place)> {
        let fates = click.fates.each.iter().enumerate();
        fates.map(|(plot, fate)| (*fate, place(plot, fate))).collect()
    };
    if view.still {
        let Some(click) = view.clicks.last() else { return };
        let places = places(click);
        for (fate, place) in &places {
            ring(marks, Point::new(x(click.at), place.mark), fate, 0.0);
        }
        return words(marks, click, x(click.at), &places, rooms, view.size[0]);
    }
    for click in view.clicks {
        for (fate, place) in places(click) {
            fly(marks, click, click.phase(view.wall), x(click.at), fate, place);
        }
    }
}

/// Draws one click in one plot, whose event is at `x`.
fn fly(marks: &mut Vec<Mark>, click: &Click, phase: f64, x: f64, fate: Fate, place: Place) {
    if fate.allowed && phase >= FLIGHT {
        marks.push(disc(Point::new(x, place.line), 3.5, place.ink));
    }
    if let Some([from_x, from_y]) = click.from.filter(|_| phase < FLIGHT) {
        let left = 1.0 - phase / FLIGHT;
        let left = left * left * left;
        let at = Point::new(x + (from_x - x) * left, place.line + (from_y - place.line) * left);
        marks.extend([disc(at, DOT + 1.5, Ink::Panel), disc(at, DOT, Ink::Text)]);
    } else if phase < FLIGHT + FALL {
        let share = ((phase - FLIGHT) / FALL).max(0.0);
        let y = place.line + (place.mark - place.line) * share * share;
        if fate.allowed {
            let at = Point::new(x, y);
            return marks.extend([disc(at, DOT + 1.5, Ink::Panel), disc(at, DOT, Ink::Allowed)]);
        }
        let arc = 4.0 * share * (1.0 - share);
        let [x, y] = [x - BOUNCE[0] * arc, y - BOUNCE[1] * arc];
        let arm = |dy: f64| (Point::new(x - DOT, y - dy), Point::new(x + DOT, y + dy));
        let pairs = vec![arm(DOT), arm(-DOT)];
        marks.push(Mark::Segments { pairs, stroke: Stroke::solid(Ink::Refused, 2.5) });
    } else {
        let share = (phase - FLIGHT - FALL) / (SEEN - FLIGHT - FALL);
        ring(marks, Point::new(x, place.mark), &fate, share.min(1.0));
    }
}

/// A ring around a new mark, which grows and fades with the `share` of its time that has passed.
fn ring(marks: &mut Vec<Mark>, Point { x, y }: Point, fate: &Fate, share: f64) {
    let radius = RING[0] + (RING[1] - RING[0]) * share;
    let fill = Fill::new(ink(fate.allowed), 0.4 * (1.0 - share));
    let side = 2.0 * radius;
    let rect = Rect { x: x - radius, y: y - radius, width: side, height: side };
    marks.push(Mark::Rounded { rect, radius, fill });
}

fn ink(allowed: bool) -> Ink {
    if allowed { Ink::Allowed } else { Ink::Refused }
}

/// Writes the words of a click at the pointer or, without one, to the left of the first mark and above it.
fn words(
    marks: &mut Vec<Mark>,
    click: &Click,
    x: f64,
    places: &[(Fate, Place)],
    rooms: &[[f64; 2]],
    across: f64,
) {
    let text = &click.fates.words;
    let width = width(text, SIZE) + 16.0;
    let first = places.first().map_or(0.0, |(_, place)| place.mark - 2.0 * LINE);
    let [middle, y] = click.from.unwrap_or([x - 16.0 - width / 2.0, first]);
    let left = (middle - width / 2.0).min(across - width - 2.0).max(2.0);
    let rect = Rect { x: left, y: top(y, rooms), width, height: HIGH };
    panel(marks, rect, 6.0);
    let [x, y] = [rect.x + width / 2.0, rect.y + HIGH / 2.0];
    let ink = ink(places.iter().any(|(fate, _)| fate.allowed));
    marks.push(bold(x, y, text, ink, SIZE, Anchor::Middle));
}

/// The upper edge of the words for a pointer at the height `y`, in the nearest strip. The words are above the pointer,
/// where no hand covers them; without space there, below.
fn top(y: f64, rooms: &[[f64; 2]]) -> f64 {
    let away = |[top, bottom]: &[f64; 2]| (top - y).max(y - bottom).max(0.0);
    let nearest = rooms.iter().min_by(|a, b| away(a).total_cmp(&away(b)));
    let [top, bottom] = nearest.copied().unwrap_or([2.0, f64::INFINITY]);
    let above = (y - HIGH - AWAY).max(top);
    let free = if above + HIGH + NEAR <= y { above } else { (y + AWAY).max(top) };
    free.min(bottom - HIGH)
}
