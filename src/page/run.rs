//! The run that a view shows: a live run, or the recorded events of a log's client, in which no time passes.

use ratescope::text::ParseError;
use ratescope::time::{Span, Time};
use ratescope_lab::run::pace::Pace;
use ratescope_lab::run::past::Past;
use ratescope_lab::run::{Arrival, Experiment, Link, Named, Run};
use ratescope_lab::tune::{Measure, Moment};
use ratescope_lab::view::Viewport;

/// Opening a link takes the work of at most this many frames: a second or so.
const FRAMES: usize = 32;

/// A link that only has settings opens at this time, so that there is a minute to look at.
const PAST: Time = Time::from_micros(60_000_000);

/// A run, as the page uses it. In recorded events and in Tune no time passes. By default, the methods that Tune does
/// not need do nothing.
pub(super) trait AnyRun {
    /// The present time of the run.
    fn now(&self) -> Time;

    /// The length of time on the screen.
    fn window(&self) -> Span;

    /// Lets time pass until the viewer's `wall`, in milliseconds. `play` has the speed and the end of a part that is
    /// played.
    fn pass(&mut self, _pace: &mut Pace, _wall: f64, _play: Option<(f64, Time)>) {}

    /// Lets `span` pass with the viewer's clock stopped.
    fn step(&mut self, _pace: &mut Pace, _span: Span) {}

    /// Goes on deciding earlier events again by new settings; returns whether the picture changed.
    fn catch_up(&mut self) -> bool {
        false
    }

    /// Makes one event at the present time.
    fn click(&mut self) {}

    /// Begins the run of a link's fragment, as near as possible to `from` if it is given, or else to the instant that
    /// the link names. A link with settings alone opens with a minute of their events. Wrong parts of a link are left
    /// out; if no part is left, nothing changes.
    ///
    /// # Errors
    /// When no part of the fragment can be read.
    fn open(&mut self, fragment: &str, from: Option<Time>) -> Result<Entry, ParseError>;

    /// True if it has events at fixed times, from a script or a link.
    fn is_scripted(&self) -> bool {
        false
    }

    /// Begins again with the settings in force.
    fn reset(&mut self) -> Result<(), ParseError>;

    /// The fragment of a link to the settings in force.
    fn fragment(&self) -> String;

    /// The fragment of a link that replays the run, and stops where it stands if it is `paused`; `None` if the
    /// run had too many commands.
    fn recording(&self, _paused: bool) -> Option<String> {
        Some(self.fragment())
    }
}

/// How a link's run was entered.
pub(super) struct Entry {
    /// True to stay at the instant that the link names.
    pub(super) paused: bool,
    /// The instant that the link names.
    pub(super) at: Time,
    /// True if the run reached the instant to enter at, within the work of [`FRAMES`].
    pub(super) arrived: bool,
    /// The first error in the link, if there is one.
    pub(super) wrong: Option<ParseError>,
}

/// The run that a view shows: a live run, unless there are recorded events.
pub(super) struct Shown<E: Experiment> {
    run: Run<E>,
    /// Recorded events and the length of time on the screen; `None` shows [all](whole) of them.
    past: Option<(Past<E>, Option<Span>)>,
    /// The instant up to which all events were recorded, if known.
    until: Option<Time>,
    /// The service's verdict on each recorded event, `true` if it was refused; empty if unknown.
    verdicts: Vec<bool>,
    /// True if there may have been events before the recorded ones, unknown to the limiters here.
    begins_late: bool,
}

impl<E: Experiment + Clone> Shown<E> {
    /// A live run.
    pub(super) fn new() -> Result<Self, ParseError> {
        let run = Run::new(E::Settings::default())?;
        Ok(Shown { run, past: None, until: None, verdicts: Vec::new(), begins_late: false })
    }

    /// Recorded events; [`receive`](Self::receive) gives them.
    pub(super) fn past() -> Result<Self, ParseError> {
        let past = Past::new(E::Settings::default(), Vec::<Arrival>::new())?;
        let past = Some((past, Some(Span::from_hours(1))));
        Ok(Shown { past, ..Shown::new()? })
    }

    pub(super) fn run(&self) -> &Run<E> {
        self.past.as_ref().map_or(&self.run, |(past, _)| past.run())
    }

    /// The live run, to change it; recorded events do not change.
    pub(super) fn run_mut(&mut self) -> &mut Run<E> {
        &mut self.run
    }

    /// True if recorded events are shown in place of the live run.
    pub(super) fn is_past(&self) -> bool {
        self.past.is_some()
    }

    /// The states and counts after all recorded events; `None` for a live run.
    pub(super) fn end(&self) -> Option<&E> {
        self.past.as_ref().map(|(past, _)| past.end())
    }

    /// Takes numbers by their name:
    ///
    /// * `until`: the instant up to which all events were recorded, in microseconds since 1970.
    /// * `verdicts`: a service's verdicts on the events that come next, 1 for a refusal.
    /// * `late`, without numbers: there may have been events before the recorded ones.
    /// * Any other name replaces the recorded events: two numbers each, microseconds since 1970 and the cost.
    pub(super) fn receive(&mut self, name: &str, numbers: &[f64]) {
        match name {
            "until" => {
                self.until = numbers.first().map(|micros| Time::from_micros(*micros as i64));
                return;
            }
            "verdicts" => {
                self.verdicts = numbers.iter().map(|refused| *refused > 0.0).collect();
                return;
            }
            "late" => {
                self.begins_late = true;
                return;
            }
            _ => {}
        }
        let event = |([micros, cost], place): (&[f64; 2], usize)| {
            let refused = self.verdicts.get(place).copied();
            Arrival { refused, ..Arrival::from((Time::from_micros(*micros as i64), *cost)) }
        };
        let events = numbers.as_chunks().0.iter().zip(0..).map(event).collect();
        // The settings in force were accepted before, so this cannot fail.
        if let Some((past, _)) = &mut self.past
            && let Ok(new) = Past::new(past.run().settings().clone(), events)
        {
            *past = new;
        }
    }

    /// Gives a setting a value. For recorded events, the window may also be `all` of them.
    pub(super) fn set(&mut self, name: &str, value: &str) -> Result<(), ParseError> {
        let Some((past, window)) = &mut self.past else { return self.run.set(name, value) };
        match (name, value) {
            ("window", "all") => *window = None,
            ("window", _) => *window = Some(value.parse()?),
            _ => {
                let mut settings = past.run().settings().clone();
                settings.set(name, value)?;
                *past = Past::new(settings, past.events().to_vec())?;
            }
        }
        Ok(())
    }

    /// The value of a setting; empty where there is none.
    pub(super) fn get(&self, name: &str) -> String {
        self.run().settings().get(name)
    }

    /// Decides the visible recorded events.
    pub(super) fn look(&mut self, seen: &Viewport) {
        if let Some((past, _)) = &mut self.past {
            past.look(seen.right.before(seen.window), seen.right);
        }
    }

    /// The time at which the recorded events had their highest rate over a period.
    pub(super) fn peak(&self, period: Span) -> Option<Time> {
        let (past, _) = self.past.as_ref()?;
        let moments = past.events().iter().map(|event| Moment { time: event.at, cost: event.cost });
        Measure::Exim(period).peak(moments).map(|peak| peak.at)
    }

    /// True if the recorded events have the verdicts of a service.
    pub(super) fn has_verdicts(&self) -> bool {
        !self.verdicts.is_empty()
    }

    /// The first period of the recorded events, in which the limiters lack the earlier events.
    pub(super) fn warming(&self, period: Span) -> Option<[Time; 2]> {
        let first = self.oldest().filter(|_| self.begins_late)?;
        Some([first, first.after(period)])
    }

    /// The time of the first of the recorded events.
    pub(super) fn oldest(&self) -> Option<Time> {
        let (past, _) = self.past.as_ref()?;
        past.events().first().map(|first| first.at)
    }
}

impl<E: Experiment + Clone> AnyRun for Shown<E> {
    /// Recorded events end at the instant up to which they were recorded, or a little after the last event.
    fn now(&self) -> Time {
        let Some((past, _)) = &self.past else { return self.run.now() };
        if let Some(until) = self.until {
            return until;
        }
        let last = past.events().last().map_or(Time::ZERO, |last| last.at);
        last.after(Span::try_from_secs_f64(self.window().as_secs_f64() / 20.0).unwrap_or_default())
    }

    fn window(&self) -> Span {
        match &self.past {
            None => self.run.settings().common().window,
            Some((_, Some(window))) => *window,
            Some((past, None)) => whole(past.events(), self.until),
        }
    }

    fn pass(&mut self, pace: &mut Pace, wall: f64, play: Option<(f64, Time)>) {
        match play {
            _ if self.is_past() => {}
            Some((speed, end)) => pace.play(&mut self.run, wall, speed, end),
            None => pace.run(&mut self.run, wall),
        }
    }

    fn step(&mut self, pace: &mut Pace, span: Span) {
        pace.step(&mut self.run, span);
    }

    fn catch_up(&mut self) -> bool {
        self.run.catch_up(E::PER_FRAME)
    }

    fn click(&mut self) {
        self.run.click();
    }

    fn open(&mut self, fragment: &str, from: Option<Time>) -> Result<Entry, ParseError> {
        let (link, wrong) = match Link::<E::Settings>::good_parts(fragment) {
            (Some(link), wrong) => (link, wrong),
            (None, Some(error)) => return Err(error),
            (None, None) => (Link::default(), None),
        };
        self.run = Run::open(&link)?;
        let only_settings = link.at == Time::ZERO && !self.run.is_scripted();
        let at = if only_settings { PAST } else { link.at };
        let from = from.unwrap_or(at);
        self.run.advance(from, FRAMES * E::PER_FRAME);
        let arrived = only_settings || self.run.now() >= from;
        Ok(Entry { paused: link.paused, at, arrived, wrong })
    }

    fn is_scripted(&self) -> bool {
        self.run.is_scripted()
    }

    fn reset(&mut self) -> Result<(), ParseError> {
        self.run = Run::new(self.run.settings().clone())?;
        Ok(())
    }

    /// Recorded events are private, so no link has them.
    fn fragment(&self) -> String {
        if self.is_past() {
            return String::new();
        }
        Link { settings: self.run.settings().clone(), ..Link::default() }.to_string()
    }

    fn recording(&self, paused: bool) -> Option<String> {
        Some(Link { paused, ..self.run.link()? }.to_string())
    }
}

/// A tenth longer than all events, up to the end of the recording if it is known, and at least 10 s.
fn whole(events: &[Arrival], until: Option<Time>) -> Span {
    let [Some(first), Some(last)] = [events.first(), events.last()] else {
        return Span::from_secs(10);
    };
    let last = until.map_or(last.at, |until| until.max(last.at));
    Span::try_from_secs_f64((last.since(first.at) * 1.1).max(10.0)).unwrap_or(Span::from_hours(24))
}
