//! The viewer of a run: the time and the size of the picture, and the place of the pointer.

use super::pointer::Pointer;
use super::run::AnyRun;
use ratescope::time::{Span, Time};
use ratescope_lab::plot::Mark;
use ratescope_lab::run::pace::Pace;
use ratescope_lab::view::scope::Term;
use ratescope_lab::view::{Feedback, SEEN, Viewport, edges, seconds_per_pixel};

/// The viewer of a run.
#[derive(Default)]
pub(super) struct Viewer {
    /// The clock by which the run goes on.
    pub(super) pace: Pace,
    /// True if the time of the run is stopped.
    pub(super) paused: bool,
    /// The instant at the right edge while looking back; the present otherwise.
    pub(super) past: Option<Time>,
    pub(super) pointer: Pointer,
    /// Width and height of the picture in CSS pixels.
    pub(super) size: [f64; 2],
    /// True if the viewer asked for less motion.
    pub(super) still: bool,
    /// The length of time on the screen while the viewer zooms; `None` for the run's own window.
    pub(super) zoom: Option<Span>,
    /// The part of the run that is being played, if any.
    pub(super) play: Option<Play>,
    /// True if the run paused at the end of a played part: a click resumes it.
    pub(super) ended: bool,
    /// Instants that are marked, ascending.
    pub(super) flags: Vec<Time>,
    /// The term of the red line's formula that the viewer points to.
    pub(super) term: Option<Term>,
    /// When the axis was last clicked, in milliseconds, while a double click is possible.
    pub(super) axis: Option<f64>,
    /// The last click, while its feedback is seen.
    pub(super) clicked: Option<Clicked>,
}

/// A click, and its feedback.
pub(super) struct Clicked {
    pub(super) feedback: Feedback,
    /// When the viewer clicked, in milliseconds.
    pub(super) wall: f64,
    /// When the click was, in the time of the run.
    pub(super) at: Time,
    /// Where the pointer was.
    pub(super) cursor: Option<[f64; 2]>,
}

impl Clicked {
    /// True if the feedback is still seen at the viewer's `wall`.
    pub(super) fn is_seen(&self, wall: f64) -> bool {
        wall - self.wall < SEEN
    }

    /// Draws the feedback at `wall`, without motion if `still`.
    pub(super) fn draw(&self, marks: &mut Vec<Mark>, seen: &Viewport, wall: f64, still: bool) {
        let pixel = seconds_per_pixel(seen.size[0], seen.window);
        let x = edges(seen.size[0])[1] - seen.right.since(self.at) / pixel;
        let share = if still { 0.0 } else { ((wall - self.wall) / SEEN).clamp(0.0, 1.0) };
        self.feedback.draw(marks, x, self.cursor, share, seen.size[0]);
    }
}

/// A part of a run that is played at a speed of its own.
#[derive(Clone, Copy)]
pub(super) struct Play {
    /// Seconds of the run in a second of the viewer.
    pub(super) speed: f64,
    /// The instant of the run at which it ends.
    pub(super) end: Time,
    /// True if the run is paused there.
    pub(super) stops: bool,
}

impl Viewer {
    /// The visible part of the run, without the upper edges of the scales, which the view adds.
    pub(super) fn viewport(&self, run: &dyn AnyRun) -> Viewport<'_> {
        Viewport {
            size: self.size,
            right: self.past.unwrap_or(run.now()),
            window: self.zoom.unwrap_or(run.window()),
            own_time: self.paused
                || self.past.is_some()
                || !self.flags.is_empty()
                || run.is_scripted(),
            flags: &self.flags,
            term: self.term,
            live: self.past.is_none(),
            pointer: self.pointer.at,
            clicked: self.clicked.as_ref().is_some_and(|clicked| clicked.cursor == self.pointer.at),
            holds_limit: self.pointer.holds_limit(),
            on_limit: self.pointer.is_on_limit(),
            gaps: self.pace.gaps(),
            ..Viewport::default()
        }
    }

    /// Returns to the present, and to a clock that has not started.
    pub(super) fn begin(&mut self) {
        self.pace = Pace::default();
        self.past = None;
        self.zoom = None;
        self.play = None;
        self.flags.clear();
        (self.ended, self.clicked) = (false, None);
    }

    /// Returns to the present and to the window of the run.
    pub(super) fn return_to_live(&mut self) {
        self.past = None;
        self.zoom = None;
    }

    /// Puts the right edge at `seconds` before `from`, or after it if negative. The edge goes back at most to a quarter
    /// of the `window` after `oldest`, the earliest instant that the run remembers. An edge at or after `now` returns
    /// to the present.
    pub(super) fn look_back(
        &mut self,
        from: Time,
        seconds: f64,
        window: Span,
        [oldest, now]: [Time; 2],
    ) {
        let micros = from.as_micros().saturating_sub((seconds * 1e6) as i64);
        let quarter = Span::from_secs(window.secs() / 4.0).unwrap_or(window);
        let right = Time::from_micros(micros).max(oldest.after(quarter));
        self.past = (right < now).then_some(right);
    }
}
