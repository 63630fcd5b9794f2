//! A client's events through several limiters at once, as on the Compare page.

use super::events::Events;
use crate::lab::compare::{Replay, Rule, Settings};
use crate::lab::run::{Named, RunSettings};
use crate::lab::tune::Measure;
use crate::plot::{Anchor, Baseline, Ink, Mark, Point, Text};
use crate::policy::Policy;
use crate::text::ParseError;
use crate::time::{Span, Time};
use crate::view::compare::{self, Viewport, pitch};
use crate::view::edges;
use crate::web::page::run::AnyRun;
use crate::web::page::view;
use crate::web::page::viewer::Seen;
use crate::web::texts::Texts;

/// The longest time that is seen: the lanes are put through it, and as much to look on, at once.
const LONGEST: Span = Span::minutes(30);

/// How long before it the events begin, as limiters remember: longer than nearly all of them do.
const BEFORE: Span = Span::hours(1);

/// Lanes over events that were.
pub(in crate::web) struct View {
    events: Events,
    settings: Settings,
    replay: Replay,
    /// From where to where the lanes show what they would.
    known: [Time; 2],
}

impl View {
    pub(in crate::web) fn new() -> Result<Self, ParseError> {
        let run = RunSettings { auto: false, ..RunSettings::default() };
        let settings = Settings { run, ..Settings::default() };
        let replay = Replay::new(settings.clone())?;
        Ok(View { events: Events::default(), settings, replay, known: [Time::ZERO; 2] })
    }

    /// Puts the events around a time to the lanes.
    fn again(&mut self, right: Time, window: Span) {
        let [from, to] = [right.before(window), right.after(window).min(self.events.now())];
        let mut events = self.events.between(from.before(BEFORE), to);
        // The lanes begin with the first, so that one without cost makes them begin early enough.
        events.insert(0, (from.before(BEFORE), 0.0));
        if let Ok(mut replay) = Replay::of_events(self.settings.clone(), events) {
            replay.advance(to.max(right), usize::MAX);
            self.replay = replay;
        }
        self.known = [from, to.max(right)];
    }

    fn forget(&mut self) {
        self.known = [Time::ZERO; 2];
    }

    fn viewport<'a>(&self, seen: &Seen<'a>) -> Viewport<'a> {
        let window = seen.window;
        Viewport {
            size: seen.size,
            right: seen.right,
            live: false,
            window,
            tops: &[],
            total: compare::total(&self.replay, seen.right, window),
            crosshair: seen.crosshair,
            own_time: true,
            flags: &[],
            gaps: &[],
        }
    }
}

impl view::View for View {
    fn run(&self) -> &dyn AnyRun {
        &self.events
    }

    fn run_mut(&mut self) -> &mut dyn AnyRun {
        &mut self.events
    }

    fn oldest(&self) -> Time {
        self.events.oldest()
    }

    /// The limit of lanes that have none of their own, the lanes, and how much of the time is seen.
    fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        match name {
            "window" => {
                self.events.set(name, value)?;
                if self.events.window() > LONGEST {
                    self.events.set(name, &LONGEST.to_string())?;
                }
            }
            _ => self.settings.set(name, value)?,
        }
        self.forget();
        Ok(())
    }

    fn put(&mut self, _name: &str, numbers: &[f64]) {
        self.events.put(numbers);
        self.forget();
    }

    fn height(&self, width: f64) -> Option<f64> {
        Some(compare::height(self.settings.lanes.len(), width))
    }

    /// The highest rate over a period of the limit.
    fn landmark(&self) -> Option<Time> {
        self.events.peak(Measure::Exim(self.settings.limit.per()))
    }

    fn is_live(&self) -> bool {
        false
    }

    fn ease(&mut self, seen: &Seen, _wall: f64, _still: bool) -> bool {
        let [from, to] = self.known;
        let known = from <= seen.right.before(seen.window) && seen.right <= to;
        if !known {
            self.again(seen.right, seen.window);
        }
        !known
    }

    fn jump(&mut self) {}

    fn draw(&self, seen: &Seen) -> Vec<Mark> {
        let mut marks = compare::draw(&self.replay, &self.viewport(seen));
        let [left, _] = edges(seen.size[0]);
        for (lane, i) in self.replay.lanes().iter().zip(0..) {
            marks.push(Mark::Text(Text {
                at: Point::new(left, f64::from(i) * pitch(seen.size[0]) + 16.0),
                text: format!("{}  {}", i + 1, limiters(lane.policy())),
                ink: Ink::Text,
                size: 12.0,
                bold: true,
                anchor: Anchor::Start,
                baseline: Baseline::Middle,
            }));
        }
        marks
    }

    fn say(&self, _texts: &mut Texts) {}

    fn summary(&self, seen: &Seen) -> String {
        match seen.crosshair {
            None => self.settings.lanes.iter().map(Rule::as_str).collect::<Vec<_>>().join("; "),
            Some(x) => {
                let view = self.viewport(seen);
                let [_, edge] = edges(seen.size[0]);
                let pixel = crate::view::seconds_per_pixel(seen.size[0], view.window);
                let ago = Span::from_secs(((edge - x) * pixel).max(0.0)).unwrap_or_default();
                compare::words(&self.replay, &view, seen.right.before(ago)).join(". ")
            }
        }
    }
}

/// The limiters of a policy; whom they are for is one client here.
fn limiters(policy: &Policy) -> String {
    let limiters = policy.limits().iter().map(|limit| limit.limiter.to_string());
    limiters.collect::<Vec<_>>().join(" & ")
}
