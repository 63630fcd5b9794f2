//! The viewer of a run: the time and the size of the picture, and the place of the pointer.

use super::pointer::Pointer;
use super::run::AnyRun;
use ratescope::time::{Span, Time};
use ratescope_lab::run::pace::Pace;
use ratescope_lab::view::scope::Term;
use ratescope_lab::view::{Click, Viewport, edges, seconds_per_pixel};

#[derive(Default)]
pub(super) struct Viewer {
    /// The clock by which the run goes on.
    pub(super) pace: Pace,
    /// True if the time of the run is stopped.
    pub(super) paused: bool,
    /// The instant at the right edge while looking back; the present otherwise.
    pub(super) past: Option<Time>,
    pub(super) pointer: Pointer,
    /// True if the crosshair is wherever the pointer is, since clicks make no events.
    pub(super) only_points: bool,
    /// The time of the last frame, in milliseconds.
    pub(super) wall: f64,
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
    /// The last clicks, while they are seen to land.
    pub(super) clicks: Vec<Click>,
    /// The end and the length of a run that is played: its axis stands still, and the run fills it.
    pub(super) axis_of_run: Option<(Time, Span)>,
    /// True if the Scope leaves out the blue line.
    pub(super) hides_blue: bool,
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
        let mut right = self.past.unwrap_or(run.now());
        let mut window = run.window();
        if let Some((end, length)) = self.axis_of_run {
            window = length;
            right = if self.past.is_none() { right.max(end) } else { right };
        }
        let window = self.zoom.unwrap_or(window);
        let place = |at: Time| {
            let pixel = seconds_per_pixel(self.size[0], window);
            let [_, edge] = edges(self.size[0]);
            // An instant is in whole microseconds, and a line beside a pixel would be blurred.
            let x = libm::round((edge - right.since(at) / pixel) * 1e3) / 1e3;
            [x, self.pointer.at.map_or(0.0, |[_, y]| y)]
        };
        let crosshair = self.pointer.crosshair.map(place);
        Viewport {
            size: self.size,
            right,
            window,
            own_time: self.paused
                || self.past.is_some()
                || self.axis_of_run.is_some()
                || !self.flags.is_empty()
                || run.is_scripted(),
            flags: &self.flags,
            term: self.term,
            hides_blue: self.hides_blue,
            live: self.past.is_none(),
            runs: self.past.is_none() && !self.paused,
            pointer: if self.only_points { self.pointer.at } else { crosshair },
            clicks: &self.clicks,
            wall: self.wall,
            still: self.still,
            holds_limit: self.pointer.holds_limit(),
            on_limit: self.pointer.is_on_limit(),
            gaps: self.pace.gaps(),
            ..Viewport::default()
        }
    }

    /// Puts the crosshair at a place of the picture that is `seen`; left of the plot there is none.
    pub(super) fn point(&mut self, at: [f64; 2], [right, now]: [Time; 2], window: Span) {
        self.pointer.at = Some(at);
        let [left, edge] = edges(self.size[0]);
        let seconds = (edge - at[0]).max(0.0) * seconds_per_pixel(self.size[0], window);
        let micros = right.as_micros().saturating_sub(libm::round(seconds * 1e6) as i64);
        self.pointer.crosshair = (at[0] >= left).then(|| Time::from_micros(micros).min(now));
    }

    /// Returns to the present, and to a clock that has not started.
    pub(super) fn begin(&mut self) {
        self.pace = Pace::default();
        self.past = None;
        self.zoom = None;
        self.play = None;
        self.flags.clear();
        (self.ended, self.axis_of_run) = (false, None);
        self.clicks.clear();
    }

    /// Returns to the present and to the window of the run.
    pub(super) fn return_to_live(&mut self) {
        self.past = None;
        self.zoom = None;
        self.axis_of_run = None;
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
        let quarter = Span::try_from_secs_f64(window.as_secs_f64() / 4.0).unwrap_or(window);
        let right = Time::from_micros(micros).max(oldest.after(quarter));
        self.past = (right < now).then_some(right);
    }
}
