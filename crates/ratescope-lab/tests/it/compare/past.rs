//! The run of a client of a log: every picture shows the decisions of the chosen limiter, as if it had just
//! read the whole log.

use super::*;
use ratescope::ParseError;
use ratescope_lab::compare::Lanes;
use ratescope_lab::lane::history::Grain;
use ratescope_lab::run::past::Past;
use ratescope_lab::run::{Arrival, Experiment};
use ratescope_lab::scope::{self, Instrument};
use std::cell::Cell;
use std::rc::Rc;

/// A busy client: bursts for six hours, of which some have other costs.
fn log() -> Vec<(Time, f64)> {
    let begin = 1_750_000_000.0;
    let times = stream(Pattern::Bursts, "1/2s", 3, 0.0, 21_600.0).into_iter().enumerate();
    times.map(|(i, t)| (at(begin + t.as_secs_f64()), [1.0, 1.0, 2.0][i % 3])).collect()
}

const LANES: [(&str, &str); 2] = [
    ("limit", "12/1m"),
    ("lanes", "exim strict;sliding-log 40/10m;gcra;adaptive x2 decay 1m floor 5"),
];

/// Decides all events one after the other: of each lane, which were allowed.
fn decided(events: &[(Time, f64)]) -> Vec<Vec<bool>> {
    let passed = |lane: &Lane| {
        let store = ratescope::MemoryStore::new(lane.policy().clone(), 4);
        let passes = |&(time, cost): &(Time, f64)| {
            let fields = &[("ip", "192.0.2.1"), ("user", "")];
            store.check(&ratescope::Event { time, cost, fields }).outcome().unwrap().is_allowed()
        };
        events.iter().map(passes).collect()
    };
    comparison(&LANES).lanes().iter().map(passed).collect()
}

#[test]
fn any_part_of_a_log_is_decided_as_all_of_it() {
    let events = log();
    let told = decided(&events);
    let mut past = Past::<Lanes>::new(settings(&LANES), events.clone()).unwrap();
    let begin = events[0].0;
    for (from, seconds) in
        [(0.0, 60.0), (7000.0, 600.0), (6990.5, 60.0), (20_000.0, 4000.0), (-100.0, 30_000.0)]
    {
        let [from, to] = [begin.as_secs_f64() + from, begin.as_secs_f64() + from + seconds].map(at);
        past.look(from, to);
        for (lane, told) in past.run().lanes().iter().zip(&told) {
            let columns = lane.history().columns(from, to, 0.0);
            let counts = columns.iter().fold([0, 0], |[a, r], c| [a + c.allowed, r + c.refused]);
            let width = columns.width;
            assert!(width.as_secs_f64() <= (seconds / 500.0).max(0.017), "{width} of {seconds}");
            let end = columns.first.as_micros()
                + (columns.len() as i64) * (width.as_secs_f64() * 1e6) as i64;
            let inside = |time: Time| time >= columns.first && time.as_micros() < end;
            let shown = |allowed| {
                let is = |((time, _), passed): &(&(Time, f64), &bool)| {
                    inside(*time) && **passed == allowed
                };
                events.iter().zip(told).filter(is).count() as u32
            };
            assert_eq!(counts, [shown(true), shown(false)], "{} from {from}", lane.template());
        }
    }
    for (lane, told) in past.end().lanes.iter().zip(&told) {
        let allowed = told.iter().filter(|passed| **passed).count() as u64;
        assert_eq!(counts(lane), (allowed, told.len() as u64 - allowed));
    }
}

/// The scope and the comparison of one client show the same decisions.
#[test]
fn two_pictures_of_a_client_agree() {
    let events = log();
    let mut close = scope::Settings::default();
    close.set("limiter", "sliding-log 40/10m").unwrap();
    let mut close = Past::<Instrument>::new(close, events.clone()).unwrap();
    let told = &decided(&events)[1];
    let allowed = told.iter().filter(|passed| **passed).count() as u64;
    assert_eq!(
        (close.end().allowed(), close.end().refused()),
        (allowed, told.len() as u64 - allowed)
    );
    let begin = events[0].0.as_secs_f64();
    let [from, to] = [begin + 9000.0, begin + 9600.0].map(at);
    close.look(from, to);
    let columns = close.run().instrument().trace().columns(from, to, 0.0);
    let seen: Vec<_> = columns.iter().filter(|column| column.first >= from).collect();
    let refused: u32 = seen.iter().map(|column| column.end.refused).sum();
    let inside = |(time, _): &(Time, f64)| (from..=to).contains(time);
    let expected =
        events.iter().zip(told).filter(|(event, passed)| inside(event) && !**passed).count();
    assert!(expected > 0);
    assert_eq!(refused as usize, expected);
}

/// Counts the events that are put to it.
#[derive(Clone)]
struct Counter(Rc<Cell<usize>>);

thread_local! {
    static PUT: Rc<Cell<usize>> = Rc::default();
}

impl Experiment for Counter {
    type Settings = Settings;
    const PER_FRAME: usize = 1000;

    fn new(_: &Settings, _: Time) -> Result<Self, ParseError> {
        Ok(Counter(PUT.with(Rc::clone)))
    }

    fn event(&mut self, _: &Arrival) {
        self.0.set(self.0.get() + 1);
    }

    fn follow(&mut self, _: Time, _: &Settings) -> Result<(), ParseError> {
        Ok(())
    }

    fn with_new_history(&self, _: Time, _: Grain) -> Self {
        self.clone()
    }
}

/// Panning doesn't wait for all of the log in each frame.
#[test]
fn panning_never_decides_the_log_again() {
    let events: Vec<_> = (0..64_000).map(|i| (at(f64::from(i)), 1.0)).collect();
    let mut past = Past::<Counter>::new(Settings::default(), events).unwrap();
    let put = || PUT.with(|put| put.replace(0));
    assert_eq!(put(), 64_000);
    let (mut frames, mut idle) = (0, 0);
    for right in (600..60_000).step_by(20) {
        past.look(at(f64::from(right) - 600.0), at(f64::from(right)));
        let work = put();
        // At most the events between two kept states, and twice those in sight.
        assert!(work <= 1001 + 1200, "{work} events in a frame");
        (frames, idle) = (frames + 1, idle + usize::from(work == 0));
    }
    assert!(10 * idle > 9 * frames, "{idle} of {frames}");
}
