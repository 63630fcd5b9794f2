//! The Live view: a running service, by its own messages.

use super::ease::Eased;
use super::run::{AnyRun, Entry};
use super::view;
use crate::texts::Texts;
use ratescope::limit::any::AnyLimiter;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};
use ratescope_lab::compare::beside;
use ratescope_lab::live::{DRAWN, Live};
use ratescope_lab::plot::Mark;
use ratescope_lab::run::pace::Pace;
use ratescope_lab::view::{Viewport, live};

/// Without messages the time of the picture stops after this many seconds of the viewer.
const PATIENCE: f64 = 2.0;

/// A service, and the upper edges of the lanes of its rules.
#[derive(Default)]
pub(super) struct View {
    service: Service,
    tops: Vec<Eased>,
    /// The values of `tops`, for the picture.
    edges: Vec<f64>,
    /// The limiters of the key that is opened.
    limiters: String,
}

/// The messages of a service so far, and its time.
struct Service {
    live: Live,
    now: Time,
    /// Seconds of the service in a second of the viewer: 1, except in a replay.
    speed: f64,
    /// When the last message came, in the viewer's milliseconds, and its time by the service.
    heard: Option<(f64, Time)>,
    /// The viewer's time of the last frame, in milliseconds.
    wall: f64,
}

impl Default for Service {
    fn default() -> Self {
        Service { live: Live::default(), now: Time::ZERO, speed: 1.0, heard: None, wall: 0.0 }
    }
}

impl Service {
    /// Takes rows of a ring of the past.
    fn past(&mut self, ring: usize, numbers: &[f64]) {
        let [begun, until, since, all, each, rows @ ..] = numbers else { return };
        let seconds = [begun, until, since].map(|second| *second as i64);
        let rows = rows.chunks_exact((*each as usize).max(1));
        self.live.add_past(ring, seconds, *all > 0.0, rows);
    }
}

impl View {
    fn viewport<'a>(&'a self, seen: &Viewport<'a>) -> Viewport<'a> {
        Viewport { tops: &self.edges, ..*seen }
    }

    /// The height of the picture in CSS pixels.
    pub(super) fn height(&self) -> f64 {
        live::height(&self.service.live)
    }
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.service
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.service
    }

    fn oldest(&self) -> Time {
        self.service.live.oldest().unwrap_or(self.service.now)
    }

    /// Sets a setting of links, or one of two more: `rules`, a line for each rule with its name, a tab and its limits;
    /// and `limiter`, the limits of the opened key.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match name {
            "rules" => {
                let each = value.lines().map(|line| line.split_once('\t').unwrap_or((line, "")));
                self.service.live.name(each);
            }
            "limiter" => value.clone_into(&mut self.limiters),
            "window" => self.service.live.window = value.parse()?,
            _ => {}
        }
        Ok(())
    }

    /// Returns a setting of links, or one of two more about the opened key: `limit`, the rate of its first limit, and
    /// `lanes`, the setting with which Compare shows its limits beside others.
    fn get(&self, name: &str) -> String {
        let first = || self.limiters.split(" & ").next()?.parse::<AnyLimiter>().ok()?.quota();
        match name {
            "limit" => first().map_or(String::new(), |quota| quota.to_string()),
            "lanes" => beside(&self.limiters),
            "window" => self.service.live.window.to_string(),
            _ => String::new(),
        }
    }

    fn ease(&mut self, seen: &Viewport, wall: f64, still: bool) -> bool {
        let rules = &self.service.live.rules;
        self.tops.resize_with(rules.len().min(DRAWN), || Eased::new(1.0));
        let wanted: Vec<f64> =
            (0..self.tops.len()).map(|lane| live::top(&self.service.live, lane, seen)).collect();
        let mut moved = false;
        for (top, wanted) in self.tops.iter_mut().zip(wanted) {
            moved |= top.follow(wanted, wall, still);
        }
        self.edges.clear();
        self.edges.extend(self.tops.iter().map(|eased| eased.top));
        moved
    }

    fn jump(&mut self) {
        self.tops.clear();
    }

    fn takes_events(&self) -> bool {
        false
    }

    fn has_time(&self) -> bool {
        true
    }

    fn draw(&self, seen: &Viewport) -> Vec<Mark> {
        live::draw(&self.service.live, &self.viewport(seen))
    }

    /// Takes numbers by their names:
    ///
    /// * `sums`: their time in microseconds since 1970, and the sums of the rules.
    /// * `seconds`, `tens` and `hours`: the first and the current second of the process, the second from which on the
    ///   ring is complete, 1 if earlier rows must be dropped and else 0, the length of a row, and the rows.
    /// * `begin`, without numbers: all that follows is from another process.
    /// * `speed`: the speed of a replay, in seconds of the service in a second of the viewer.
    fn receive(&mut self, name: &str, numbers: &[f64]) {
        let service = &mut self.service;
        match (name, numbers) {
            ("seconds", numbers) => service.past(0, numbers),
            ("tens", numbers) => service.past(1, numbers),
            ("hours", numbers) => service.past(2, numbers),
            ("sums", [micros, sums @ ..]) => {
                service.live.add_sums(sums);
                service.heard = Some((service.wall, Time::from_micros(*micros as i64)));
            }
            ("begin", _) => service.speed = 1.0,
            ("speed", [speed]) => service.speed = *speed,
            _ => {}
        }
    }

    fn write_texts(&self, _seen: &Viewport, _texts: &mut Texts) {}

    fn summary(&self, seen: &Viewport) -> String {
        let words = live::words(&self.service.live, &self.viewport(seen));
        if !words.is_empty() {
            return words.join(". ");
        }
        let each = self.service.live.rules.iter().map(|rule| {
            let [allowed, refused, _] = rule.sums.0;
            format!("{}: {allowed} allowed, {refused} refused.", rule.name)
        });
        each.collect::<Vec<_>>().join(" ")
    }
}

/// The time is that of the messages. Between two messages it passes `speed` times as fast as the viewer's time.
impl AnyRun for Service {
    fn now(&self) -> Time {
        self.now
    }

    fn window(&self) -> Span {
        self.live.window
    }

    fn pass(&mut self, _pace: &mut Pace, wall: f64, _play: Option<(f64, Time)>) {
        self.wall = wall;
        let Some((then, at)) = self.heard else { return };
        let passed = ((wall - then) / 1e3).clamp(0.0, PATIENCE) * self.speed;
        let now = at.after(Span::try_from_secs_f64(passed).unwrap_or_default());
        // A late message does not set the time back. On a larger step back, the service's clock was set back, and the
        // time follows it.
        let is_late = now < self.now && self.now.since(now) < PATIENCE * self.speed;
        self.now = if is_late { self.now } else { now };
    }

    fn open(&mut self, fragment: &str, _from: Option<Time>) -> Result<Entry, ParseError> {
        let mut wrong = None;
        for part in fragment.split('&') {
            if let Some(window) = part.strip_prefix("window=") {
                match window.parse() {
                    Ok(window) => self.live.window = window,
                    Err(error) => wrong = Some(error),
                }
            }
        }
        Ok(Entry { paused: false, at: Time::ZERO, arrived: true, wrong })
    }

    fn reset(&mut self) -> Result<(), ParseError> {
        Ok(())
    }

    fn fragment(&self) -> String {
        format!("window={}", self.live.window)
    }
}
