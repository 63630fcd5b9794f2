//! The views, and the methods that each of them must have. Everything that they share is in the [page](super). Each
//! ability of only one view is a method of its own, and the page asks the [scene](Scene) which view it is.

use super::run::{AnyRun, Shown};
#[cfg(not(without_tune))]
use super::tune;
use super::{compare, live, scope};
use crate::texts::Texts;
use core::ops::{Deref, DerefMut};
use ratescope::text::ParseError;
use ratescope::time::Time;
use ratescope_lab::plot::Mark;
use ratescope_lab::view::{Fates, Hit, Viewport};

/// The view of a page.
pub(super) enum Scene {
    /// One limiter, measured.
    Scope(Box<scope::View>),
    /// A lane for each limiter.
    Lanes(Box<compare::View>),
    /// The answer about a log.
    #[cfg(not(without_tune))]
    Tune(Box<tune::View>),
    /// A running service.
    Live(Box<live::View>),
}

impl Scene {
    /// The view that an HTML file names.
    pub(super) fn named(name: &str) -> Result<Scene, ParseError> {
        Ok(match name {
            "scope" => Scene::Scope(Box::new(scope::View::with_readouts(Shown::new()?))),
            "figure" => Scene::Scope(Box::new(scope::View::new(Shown::new()?))),
            "client" => Scene::Scope(Box::new(scope::View::new(Shown::past()?))),
            "compare" => Scene::Lanes(Box::new(compare::View::new(Shown::new()?))),
            "lanes" => Scene::Lanes(Box::new(compare::View::named(Shown::new()?))),
            "framed-lanes" => Scene::Lanes(Box::new(compare::View::framed(Shown::new()?))),
            "client-lanes" => Scene::Lanes(Box::new(compare::View::named(Shown::past()?))),
            #[cfg(not(without_tune))]
            "tune" => Scene::Tune(Box::default()),
            "live" => Scene::Live(Box::default()),
            _ => return Err(ParseError::whole(name, "not a view")),
        })
    }
}

impl Deref for Scene {
    type Target = dyn View;

    // One function in place of a match at each call.
    #[inline(never)]
    fn deref(&self) -> &Self::Target {
        match self {
            Scene::Scope(view) => &**view,
            Scene::Lanes(view) => &**view,
            #[cfg(not(without_tune))]
            Scene::Tune(view) => &**view,
            Scene::Live(view) => &**view,
        }
    }
}

impl DerefMut for Scene {
    #[inline(never)]
    fn deref_mut(&mut self) -> &mut Self::Target {
        match self {
            Scene::Scope(view) => &mut **view,
            Scene::Lanes(view) => &mut **view,
            #[cfg(not(without_tune))]
            Scene::Tune(view) => &mut **view,
            Scene::Live(view) => &mut **view,
        }
    }
}

/// A run, and how it is shown.
pub(super) trait View {
    fn run(&self) -> &dyn AnyRun;

    /// The run, to change it.
    fn run_mut(&mut self) -> &mut dyn AnyRun;

    /// The earliest instant that the run remembers; with recorded events, the time of the first.
    fn oldest(&self) -> Time;

    /// Gives a setting a value, as text.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError>;

    /// The value of a setting, as text; empty where there is none.
    fn get(&self, name: &str) -> String;

    /// The policy that decides: of the lane if `name` is a lane's setting, or else of the view.
    fn policy(&self, _name: &str) -> String {
        String::new()
    }

    /// Moves the scales towards their targets; returns whether they moved.
    fn ease(&mut self, seen: &Viewport, wall: f64, still: bool) -> bool;

    /// Makes the scales jump to their targets at the next call of [`ease`](Self::ease).
    fn jump(&mut self);

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

    /// The fates of an event that was just made.
    fn fates(&self) -> Option<Fates> {
        None
    }

    /// True if clicks and keys make events.
    fn takes_events(&self) -> bool;

    /// True if time passes in the picture.
    fn has_time(&self) -> bool {
        self.takes_events()
    }

    /// Takes numbers that were computed elsewhere, by their name.
    fn receive(&mut self, name: &str, numbers: &[f64]);

    /// Writes the texts beside the picture.
    fn write_texts(&self, seen: &Viewport, texts: &mut Texts);

    /// A few sentences for a screen reader: the readings at the crosshair, or else the present ones.
    fn summary(&self, seen: &Viewport) -> String;

    /// A remark about an unusual state of the run; mostly empty.
    fn note(&self) -> &'static str {
        ""
    }
}
