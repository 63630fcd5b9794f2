//! The differences between the views. Everything that they share is in the [page](super).

use super::compare;
use super::nudge;
use super::run::{AnyRun, Shown};
use super::scope;
use super::{live, tune};
use crate::texts::Texts;
use ratescope::text::ParseError;
use ratescope::time::Time;
use ratescope_lab::plot::Mark;
use ratescope_lab::view::{Fates, Hit, Viewport};

/// The view that an HTML file names.
pub(super) fn named(name: &str) -> Result<Box<dyn View>, ParseError> {
    match name {
        "scope" => Ok(Box::new(scope::View::with_readouts(Shown::new()?))),
        "figure" => Ok(Box::new(scope::View::new(Shown::new()?))),
        "compare" => Ok(Box::new(compare::View::new(Shown::new()?))),
        "lanes" => Ok(Box::new(compare::View::named(Shown::new()?))),
        "framed-lanes" => Ok(Box::new(compare::View::framed(Shown::new()?))),
        "tune" => Ok(Box::new(tune::View::default())),
        "live" => Ok(Box::new(live::View::default())),
        "client" => Ok(Box::new(scope::View::new(Shown::past()?))),
        "client-lanes" => Ok(Box::new(compare::View::named(Shown::past()?))),
        _ => Err(ParseError::whole(name, "not a view")),
    }
}

/// A run, and how it is shown.
pub(super) trait View {
    /// The run.
    fn run(&self) -> &dyn AnyRun;

    /// The run, to change it.
    fn run_mut(&mut self) -> &mut dyn AnyRun;

    /// The earliest instant that the run remembers; with recorded events, the time of the first.
    fn oldest(&self) -> Time;

    /// An instant worth looking at, if there is one.
    fn landmark(&self) -> Option<Time> {
        None
    }

    /// Gives a setting a value, as text.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        self.run_mut().set(name, value)
    }

    /// The value of a setting, as text; empty where there is none.
    fn get(&self, name: &str) -> String {
        self.run().get(name)
    }

    /// The next value of a setting, up if `by` is 1 and down if it is -1; `None` if there is none.
    fn next(&self, name: &str, by: f64) -> Option<String> {
        nudge::next(name, &self.get(name), by)
    }

    /// More about the value of a setting; empty if there is no more to say.
    fn about(&self, _name: &str) -> String {
        String::new()
    }

    /// The policy that decides: of the lane if `name` is a lane's setting, or else of the view.
    fn policy(&self, _name: &str) -> String {
        String::new()
    }

    /// The height in CSS pixels of a picture of this width, if there is so much `room` for it; `None` if the style
    /// sheet decides.
    fn height(&self, _width: f64, _room: f64) -> Option<f64> {
        None
    }

    /// The distance from lane to lane in CSS pixels; 0 without lanes.
    fn pitch(&self, _size: [f64; 2]) -> f64 {
        0.0
    }

    /// The number of each lane's colour.
    fn colours(&self) -> Vec<u8> {
        Vec::new()
    }

    /// Moves the scales towards their targets; returns whether they moved.
    fn ease(&mut self, seen: &Viewport, wall: f64, still: bool) -> bool;

    /// Makes the scales jump to their targets at the next call of [`ease`](Self::ease).
    fn jump(&mut self);

    /// Notes that another run has begun.
    fn begin(&mut self) {}

    /// Gives the limit the value that has the same rate over the changed interval.
    fn keep_rate(&mut self) {}

    /// The picture.
    fn draw(&self, seen: &Viewport) -> Vec<Mark>;

    /// Finds the thing at a point of the picture; a finger, `touch`, points less precisely than a mouse.
    fn hit(&self, seen: &Viewport, [_, y]: [f64; 2], _touch: bool) -> Hit {
        if self.is_axis(seen, y) { Hit::None } else { Hit::Graph }
    }

    /// True if the time axis is at this height: a drag on it chooses a stretch to zoom to.
    fn is_axis(&self, _seen: &Viewport, _y: f64) -> bool {
        false
    }

    /// The setting of [`Hit::Limit`] in the picture, which a drag and keys move.
    fn limit(&self) -> Option<&'static str> {
        None
    }

    /// Moves the limit to a point of the picture.
    fn drag(&mut self, _seen: &Viewport, _at: [f64; 2]) {}

    /// Takes a click on a point of a picture in which clicks make no events.
    fn click(&mut self, _seen: &Viewport, _at: [f64; 2]) {}

    /// What became of an event that was just made.
    fn fates(&self) -> Option<Fates> {
        None
    }

    /// True if clicks and keys make events.
    fn takes_events(&self) -> bool {
        true
    }

    /// True if time passes in the picture.
    fn has_time(&self) -> bool {
        self.takes_events()
    }

    /// Takes numbers that were computed elsewhere, by their name.
    fn receive(&mut self, _name: &str, _numbers: &[f64]) {}

    /// Writes the texts beside the picture.
    fn write_texts(&self, seen: &Viewport, texts: &mut Texts);

    /// A few sentences for a screen reader: the readings at the crosshair, or else the present ones.
    fn summary(&self, seen: &Viewport) -> String;

    /// A remark about an unusual state of the run; mostly empty.
    fn note(&self) -> &'static str {
        ""
    }
}
