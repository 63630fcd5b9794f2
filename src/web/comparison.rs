//! The state of the Compare page and how it changes. Knows nothing of the browser.

use super::ease::Eased;
use super::pointer::{Pointer, Press};
use super::{STEP, STOPS_EARLY, look_back};
use crate::lab::compare::{Link, Replay, Settings};
use crate::lab::run::pace::{CATCH_UP, Pace};
use crate::plot::axis;
use crate::plot::scale::Log;
use crate::text::{Decimal, ParseError};
use crate::time::{Span, Time};
use crate::view::compare::{self, Viewport};
use crate::view::scope::Hit;

/// The slider's positions are powers of ten, these at its ends.
const SLIDER: Log = Log { domain: [0.1, 1e4], range: [-1.0, 4.0] };

/// The page's state.
pub(super) struct Comparison {
    pub(super) replay: Replay,
    pub(super) pace: Pace,
    pub(super) paused: bool,
    pub(super) pointer: Pointer,
    pub(super) size: [f64; 2],
    /// The instant at the right edge while looking back; the present otherwise.
    pub(super) past: Option<Time>,
    /// What is wrong with the last link, until something is done.
    pub(super) problem: String,
    /// The upper edges of the lanes, and of the cumulative picture.
    lanes: Vec<Eased>,
    total: Eased,
    /// The values of `lanes`, as the picture takes them.
    tops: Vec<f64>,
    pub(super) still: bool,
}

impl Comparison {
    pub(super) fn new() -> Result<Self, ParseError> {
        Ok(Comparison {
            replay: Replay::new(Settings::default())?,
            pace: Pace::default(),
            paused: false,
            pointer: Pointer::default(),
            size: [0.0; 2],
            past: None,
            problem: String::new(),
            lanes: Vec::new(),
            total: Eased::new(1.0),
            tops: Vec::new(),
            still: false,
        })
    }

    /// Begins the run that a link describes, and shows the instant it names.
    pub(super) fn open(&mut self, fragment: &str) {
        self.problem = self.follow(fragment).err().unwrap_or_default();
    }

    fn follow(&mut self, fragment: &str) -> Result<(), String> {
        let link: Link = fragment.parse().map_err(|e: ParseError| e.to_string())?;
        self.begin(Replay::open(&link).map_err(|e| e.to_string())?);
        self.replay.advance(link.at, CATCH_UP as usize / 4);
        self.paused = link.paused;
        match self.replay.now() >= link.at {
            true => Ok(()),
            false => Err(STOPS_EARLY.to_owned()),
        }
    }

    fn begin(&mut self, replay: Replay) {
        (self.replay, self.pace, self.past) = (replay, Pace::default(), None);
        self.lanes.clear();
        self.total.jump();
    }

    /// The settings in force as a link.
    pub(super) fn settings_link(&self) -> Link {
        Link { settings: self.replay.settings().clone(), ..Link::default() }
    }

    /// A link that replays this run and stops where it stands if it does.
    pub(super) fn recording(&self) -> Link {
        Link { paused: self.paused, ..self.replay.link() }
    }

    /// Begins again with the settings of now.
    pub(super) fn reset(&mut self) -> Result<(), ParseError> {
        self.begin(Replay::new(self.replay.settings().clone())?);
        Ok(())
    }

    /// Lets time pass until the viewer's `wall`, in milliseconds. Returns whether that changes the
    /// picture.
    pub(super) fn run(&mut self, wall: f64) -> bool {
        if !self.paused {
            self.pace.run(&mut self.replay, wall);
        }
        let (right, window) = (self.right(), self.replay.settings().run.window);
        self.lanes.resize_with(self.replay.lanes().len(), || Eased::new(1.0));
        let mut moved = !self.paused;
        for (eased, lane) in self.lanes.iter_mut().zip(self.replay.lanes()) {
            moved |= eased.follow(compare::top(lane, right, window), wall, self.still);
        }
        let total = compare::total(&self.replay, right, window);
        moved |= self.total.follow(total, wall, self.still);
        self.tops.clear();
        self.tops.extend(self.lanes.iter().map(|eased| eased.top));
        moved
    }

    pub(super) fn pause(&mut self) {
        self.paused = !self.paused;
        self.pace.stop();
    }

    pub(super) fn step(&mut self) {
        self.paused = true;
        self.pace.step(&mut self.replay, STEP);
    }

    /// How the lanes are looked at.
    pub(super) fn look(&self) -> Viewport<'_> {
        Viewport {
            size: self.size,
            right: self.right(),
            live: self.past.is_none(),
            window: self.replay.settings().run.window,
            tops: &self.tops,
            total: self.total.top,
            crosshair: self.pointer.crosshair(),
            gaps: self.pace.gaps(),
        }
    }

    /// The instant under the crosshair, if there is one.
    pub(super) fn pointed_at(&self) -> Option<Time> {
        let [_, edge] = compare::plot_edges(self.size);
        let seconds = (edge - self.pointer.crosshair()?) * compare::seconds_per_pixel(&self.look());
        Span::from_secs(seconds.max(0.0)).ok().map(|span| self.right().before(span))
    }

    /// The instant at the right edge.
    fn right(&self) -> Time {
        self.past.unwrap_or(self.replay.now())
    }

    /// Looks back by `seconds` more, or less if negative; the present is as far as it goes.
    fn look_back(&mut self, from: Time, seconds: f64) {
        let oldest = self.replay.lanes().iter().map(|lane| lane.history().oldest()).min();
        let oldest = oldest.unwrap_or(Time::ZERO);
        self.past = look_back(from, seconds, oldest, self.replay.now());
    }

    pub(super) fn press(&mut self, x: f64, y: f64) {
        let press = Press { hit: Hit::Graph, from: [x, y], right: self.right(), moved: false };
        self.pointer.press = Some(press);
    }

    /// Follows the pointer, and says which cursor shows what a press would do.
    pub(super) fn move_to(&mut self, x: f64, y: f64) -> &'static str {
        self.pointer.at = Some([x, y]);
        if let Some(press) = &mut self.pointer.press {
            press.follow(x, y);
            let (moved, from, right) = (press.moved, press.from, press.right);
            if moved {
                self.look_back(right, (x - from[0]) * compare::seconds_per_pixel(&self.look()));
                return "grabbing";
            }
        }
        self.hit(x).cursor()
    }

    /// Ends a press; one that did not move is an event, at the viewer's time `wall`.
    pub(super) fn release(&mut self, wall: f64) {
        if let Some(press) = self.pointer.press.take()
            && self.hit(press.from[0]) == Hit::Graph
            && !press.moved
        {
            self.click(wall);
        }
    }

    fn hit(&self, x: f64) -> Hit {
        let [left, right] = compare::plot_edges(self.size);
        if (left..=right).contains(&x) { Hit::Graph } else { Hit::None }
    }

    /// An event at the viewer's time `wall`, and not at the last frame before it.
    fn click(&mut self, wall: f64) {
        if !self.paused {
            self.pace.run(&mut self.replay, wall);
        }
        self.replay.click();
    }

    /// Does what a key on the lanes means; false if it means nothing.
    pub(super) fn key(&mut self, key: &str, shift: bool, wall: f64) -> bool {
        let pixels = if shift { 10.0 } else { 1.0 };
        let half = self.replay.settings().run.window.secs() / 2.0;
        match key {
            " " => self.click(wall),
            "ArrowLeft" => self.move_crosshair(-pixels),
            "ArrowRight" => self.move_crosshair(pixels),
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
        self.pointer.move_crosshair(by, compare::plot_edges(self.size));
    }

    /// Moves a setting to the next value up or down.
    pub(super) fn nudge(&mut self, name: &str, by: f64) {
        let settings = self.replay.settings();
        let value = match name {
            "auto-rate" => Decimal(axis::next_round(settings.run.auto_rate, by)).to_string(),
            "seed" => settings.run.seed.saturating_add_signed(by as i64).to_string(),
            "cost" => Decimal((libm::round(settings.cost) + by).max(0.0)).to_string(),
            "budget" => {
                let count = (libm::round(settings.budget.count()) + by).max(1.0);
                let mut text = Decimal(count).to_string();
                text.push('/');
                text.push_str(&settings.budget.per().to_string());
                text
            }
            _ => return,
        };
        // At the end of the range nothing changes.
        let _ = self.replay.set(name, &value);
    }

    pub(super) fn slider(&self) -> f64 {
        SLIDER.at(self.replay.settings().run.auto_rate)
    }

    /// Sets the rate of the automatic events to two digits, at a position of the slider.
    pub(super) fn slide(&mut self, position: f64) {
        let rate = axis::two_digits(SLIDER.invert(position)).clamp(0.1, 1e4);
        let _ = self.replay.set("auto-rate", &Decimal(rate).to_string());
    }

    /// What is unusual at the moment.
    pub(super) fn note(&self) -> &str {
        if !self.problem.is_empty() {
            &self.problem
        } else if self.paused {
            "paused"
        } else if self.pace.slowed() {
            "slowed: too many events for this machine"
        } else {
            ""
        }
    }
}
