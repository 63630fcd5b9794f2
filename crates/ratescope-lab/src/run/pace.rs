//! Converts the viewer's time to the run's: speed, pause, and absences of the viewer.

use super::{Experiment, Named, Run};
use ratescope::time::{Span, Time};

/// Longer than this, in milliseconds, without a frame is an absence: the page was hidden, or the machine was asleep or
/// busy.
const ABSENCE: f64 = 1000.0;

/// The most work for one absence, in events and columns by their [weights](Experiment::weight): a few seconds.
pub const CATCH_UP: f64 = 5e6;

/// How many absences are remembered: the latest ones.
const GAPS: usize = 16;

/// A stretch of the run that was generated for an absence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gap {
    /// When it began.
    pub from: Time,
    /// When it ended.
    pub to: Time,
    /// How far the run fell behind, in its own time: with too many events to generate, it stood still for the rest of
    /// the absence.
    pub skipped: Span,
    /// The page was hidden; otherwise the machine was asleep or busy.
    pub hidden: bool,
}

/// Drives a run by the viewer's clock.
#[derive(Clone, Debug, Default)]
pub struct Pace {
    /// The viewer's time at the last frame, in milliseconds; `None` if the clock is stopped.
    wall: Option<f64>,
    /// The time that the run should reach, in whole microseconds, and the fraction of a microsecond beyond
    /// it.
    target: Time,
    rest: f64,
    gaps: Vec<Gap>,
    slowed: bool,
    /// The page was hidden since the last frame.
    hidden: bool,
}

impl Pace {
    /// Advances the run to the viewer's time `wall`, in milliseconds from any origin.
    ///
    /// Time since the last call counts at the run's speed. The first call, and the first call after
    /// [`stop`](Self::stop), only sets the clock.
    pub fn run<E: Experiment>(&mut self, run: &mut Run<E>, wall: f64) {
        self.play(run, wall, run.settings().common().speed, Time::LAST);
    }

    /// As [`run`](Self::run), at another `speed` and only up to `end`. A run past `end` stays.
    pub fn play<E: Experiment>(&mut self, run: &mut Run<E>, wall: f64, speed: f64, end: Time) {
        let passed = (wall - self.wall.unwrap_or(wall)).max(0.0);
        self.wall = Some(self.wall.map_or(wall, |last| last.max(wall)));
        self.target = self.target.max(run.now());
        let seconds = passed / 1e3 * speed;
        let end = end.max(run.now());
        if passed > ABSENCE {
            self.catch_up(run.load(), seconds, end)
        } else {
            self.move_target(seconds, end)
        }
        self.hidden = false;
        run.advance(self.target, E::PER_FRAME);
        // If one frame cannot catch up after an absence, the next frames go on. Without an absence, the machine is too
        // slow for the rate and the speed, and the run slows down.
        let catching_up = self.gaps.last().is_some_and(|gap| run.now() < gap.to);
        self.slowed = run.now() < self.target && !catching_up;
        if self.slowed {
            self.target = run.now();
        }
    }

    /// Notes that the page is hidden until the next [`run`](Self::run), as the reason of the next absence.
    pub fn hide(&mut self) {
        self.hidden = true;
    }

    /// Stops the clock; the run stays where it is.
    pub fn stop(&mut self) {
        self.wall = None;
    }

    /// Advances the run by `span`, and stops the clock.
    pub fn step<E: Experiment>(&mut self, run: &mut Run<E>, span: Span) {
        self.stop();
        self.target = run.now().after(span);
        run.advance(self.target, E::PER_FRAME);
    }

    /// The absences, oldest first.
    pub fn gaps(&self) -> &[Gap] {
        &self.gaps
    }

    /// Tells whether the last frame could not keep up with the rate and the speed.
    pub fn slowed(&self) -> bool {
        self.slowed
    }

    fn catch_up(&mut self, load: f64, seconds: f64, end: Time) {
        let most = CATCH_UP / load;
        let from = self.target;
        self.move_target(seconds.min(most), end);
        if self.target <= from {
            return;
        }
        if self.gaps.len() == GAPS {
            self.gaps.remove(0);
        }
        // A run that has reached `end` missed nothing.
        let missed = if self.target == end { 0.0 } else { (seconds - most).max(0.0) };
        let skipped = Span::try_from_secs_f64(missed).unwrap_or(Span::ZERO);
        self.gaps.push(Gap { from, to: self.target, skipped, hidden: self.hidden });
    }

    fn move_target(&mut self, seconds: f64, end: Time) {
        let micros = seconds * 1e6 + self.rest;
        self.rest = micros - libm::floor(micros);
        let whole = libm::floor(micros) as i64;
        self.target = Time::from_micros(self.target.as_micros().saturating_add(whole)).min(end);
    }
}
