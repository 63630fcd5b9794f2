//! The state of the page and how it changes. Knows nothing of the browser.

use super::ease::Eased;
use super::pointer::{Pointer, Press};
use super::{STEP, STOPS_EARLY, look_back};
use crate::lab::run::pace::Pace;
use crate::lab::scope::{Link, Scope, Settings};
use crate::outcome::Retry;
use crate::plot::axis;
use crate::plot::scale::Log;
use crate::text::{Decimal, ParseError};
use crate::time::{Span, Time};
use crate::view::scope::{self, Viewport};

/// The slider's positions are powers of ten, these at its ends.
const SLIDER: Log = Log { domain: [0.1, 1e6], range: [-1.0, 6.0] };

/// The page's state.
pub(crate) struct App {
    pub(crate) scope: Scope,
    pub(crate) pace: Pace,
    pub(crate) paused: bool,
    pub(crate) pointer: Pointer,
    /// What the pointer is over when it holds nothing.
    over: scope::Hit,
    pub(crate) size: [f64; 2],
    /// The instant at the right edge while looking back; the present otherwise.
    pub(crate) past: Option<Time>,
    /// What is wrong with the last link, until something is done.
    pub(crate) problem: String,
    /// Events per second at the upper edge.
    top: Eased,
    still: bool,
}

impl App {
    pub(crate) fn new() -> Result<Self, ParseError> {
        let scope = Scope::new(Settings::default())?;
        Ok(App {
            top: Eased::new(scope::top(&scope, scope.now())),
            scope,
            pace: Pace::default(),
            paused: false,
            pointer: Pointer::default(),
            over: scope::Hit::None,
            size: [0.0; 2],
            past: None,
            problem: String::new(),
            still: false,
        })
    }

    /// Begins the run that a link describes, and shows the instant it names.
    pub(crate) fn open(&mut self, fragment: &str) {
        self.problem = self.replay(fragment).err().unwrap_or_default();
    }

    fn replay(&mut self, fragment: &str) -> Result<(), String> {
        let link: Link = fragment.parse().map_err(|e: ParseError| e.to_string())?;
        self.scope = Scope::open(&link).map_err(|e| e.to_string())?;
        self.pace = Pace::default();
        self.scope.advance(link.at, crate::lab::run::pace::CATCH_UP as usize);
        (self.paused, self.past) = (link.paused, None);
        self.top.jump();
        match self.scope.now() >= link.at {
            true => Ok(()),
            false => Err(STOPS_EARLY.to_owned()),
        }
    }

    /// The settings in force as a link.
    pub(crate) fn settings_link(&self) -> Link {
        Link { settings: *self.scope.settings(), ..Link::default() }
    }

    /// A link that replays this run and stops where it stands if it does.
    pub(crate) fn recording(&self) -> Link {
        Link { paused: self.paused, ..self.scope.link() }
    }

    /// Begins again with the settings of now.
    pub(crate) fn reset(&mut self) -> Result<(), ParseError> {
        self.scope = Scope::new(*self.scope.settings())?;
        self.pace = Pace::default();
        self.past = None;
        self.top.jump();
        Ok(())
    }

    /// Lets time pass until the viewer's `wall`, in milliseconds. Returns whether that changes the
    /// picture: a paused one, eased to its scale, stays what it is.
    pub(crate) fn run(&mut self, wall: f64) -> bool {
        if !self.paused {
            self.pace.run(&mut self.scope, wall);
        }
        // While the limit is dragged the scale stays, or the line would run away from the pointer.
        let target = match self.pointer.holds_limit() {
            true => self.top.top,
            false => scope::top(&self.scope, self.right()),
        };
        let moved = self.top.follow(target, wall, self.still);
        !self.paused || moved
    }

    pub(crate) fn pause(&mut self) {
        self.paused = !self.paused;
        self.pace.stop();
    }

    pub(crate) fn step(&mut self) {
        self.paused = true;
        self.pace.step(&mut self.scope, STEP);
    }

    pub(crate) fn reduce_motion(&mut self, still: bool) {
        self.still = still;
    }

    pub(crate) fn is_still(&self) -> bool {
        self.still
    }

    /// How the scope is looked at.
    pub(crate) fn look(&self) -> Viewport<'_> {
        let settings = self.scope.settings();
        Viewport {
            size: self.size,
            right: self.right(),
            live: self.past.is_none(),
            window: settings.run.window,
            top: self.top.top,
            crosshair: self.pointer.crosshair(),
            on_limit: self.over == scope::Hit::Limit || self.pointer.holds_limit(),
            exact: settings.exact,
            gaps: self.pace.gaps(),
        }
    }

    /// The instant at the right edge.
    pub(crate) fn right(&self) -> Time {
        self.past.unwrap_or(self.scope.now())
    }

    /// Looks back by `seconds` more, or less if negative; the present is as far as it goes.
    pub(crate) fn look_back(&mut self, from: Time, seconds: f64) {
        let oldest = self.scope.instrument().trace().oldest().unwrap_or(self.scope.now());
        self.past = look_back(from, seconds, oldest, self.scope.now());
    }

    pub(crate) fn press(&mut self, x: f64, y: f64, touch: bool) {
        let hit = scope::hit(&self.scope, &self.look(), x, y, touch);
        self.pointer.press = Some(Press { hit, from: [x, y], right: self.right(), moved: false });
    }

    /// Follows the pointer, and says which cursor shows what a press would do.
    pub(crate) fn move_to(&mut self, x: f64, y: f64) -> &'static str {
        self.pointer.at = Some([x, y]);
        let Some(press) = &mut self.pointer.press else {
            let hit = scope::hit(&self.scope, &self.look(), x, y, false);
            self.over = hit;
            return hit.cursor();
        };
        press.follow(x, y);
        let (hit, moved, from, right) = (press.hit, press.moved, press.from, press.right);
        if hit == scope::Hit::Limit {
            if moved {
                let limit = scope::limit_at(&self.scope, &self.look(), y);
                let _ = self.scope.set("limit", &Decimal(limit).to_string());
            }
        } else if moved {
            let seconds = (x - from[0]) * scope::seconds_per_pixel(&self.look());
            self.look_back(right, seconds);
            return "grabbing";
        }
        hit.cursor()
    }

    /// Ends a press; one that did not move is an event, at the viewer's time `wall`.
    pub(crate) fn release(&mut self, wall: f64) {
        let [left, right] = scope::plot_edges(&self.look());
        if let Some(press) = self.pointer.press.take()
            && (left..=right).contains(&press.from[0])
            && !press.moved
        {
            self.click(wall);
        }
    }

    /// The pointer is gone.
    pub(crate) fn leave(&mut self) {
        self.over = scope::Hit::None;
        self.pointer.leave();
    }

    /// An event at the viewer's time `wall`, and not at the last frame before it.
    pub(crate) fn click(&mut self, wall: f64) {
        if !self.paused {
            self.pace.run(&mut self.scope, wall);
        }
        self.scope.click();
    }

    /// Does what a key on the graph means; false if it means nothing.
    pub(crate) fn key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        let pixels = if shift { 10.0 } else { 1.0 };
        let half = self.scope.settings().run.window.secs() / 2.0;
        match key {
            " " => self.click(wall),
            "ArrowLeft" => self.move_crosshair(-pixels),
            "ArrowRight" => self.move_crosshair(pixels),
            "ArrowUp" => self.nudge("limit", 1.0),
            "ArrowDown" => self.nudge("limit", -1.0),
            "PageUp" => self.look_back(self.right(), half),
            "PageDown" => self.look_back(self.right(), -half),
            "Escape" => {
                self.past = None;
                self.pointer.at = None;
            }
            "p" | "P" => self.pause(),
            "s" | "S" => self.step(),
            "r" | "R" => return self.reset().is_ok(),
            _ => return false,
        }
        true
    }

    fn move_crosshair(&mut self, by: f64) {
        self.pointer.move_crosshair(by, scope::plot_edges(&self.look()));
    }

    /// Moves a setting to the next round value up or down: 1, 2, 5, 10 and so on, or by one.
    pub(crate) fn nudge(&mut self, name: &str, by: f64) {
        let settings = self.scope.settings();
        let next = match name {
            "decay" => Span::from_secs(axis::next_round_time(settings.decay.secs(), by)),
            "increase" => Span::from_secs(axis::next_round_time(settings.increase.secs(), by)),
            _ => Ok(Span::ZERO),
        };
        let value = match name {
            "limit" => Decimal((libm::round(settings.limit) + by).max(0.0)).to_string(),
            "seed" => settings.run.seed.saturating_add_signed(by as i64).to_string(),
            "auto-rate" => Decimal(axis::next_round(settings.run.auto_rate, by)).to_string(),
            _ => next.unwrap_or_default().to_string(),
        };
        // At the end of the range nothing changes.
        let _ = self.scope.set(name, &value);
    }

    pub(crate) fn slider(&self) -> f64 {
        SLIDER.at(self.scope.settings().run.auto_rate)
    }

    /// Sets the rate of the automatic events to two digits, at a position of the slider.
    pub(crate) fn slide(&mut self, position: f64) {
        let rate = axis::two_digits(SLIDER.invert(position)).clamp(0.1, 1e6);
        let _ = self.scope.set("auto-rate", &Decimal(rate).to_string());
    }

    /// When the next event would be allowed.
    pub(crate) fn again(&self) -> Retry {
        self.scope.instrument().retry_after(self.scope.now())
    }
}
