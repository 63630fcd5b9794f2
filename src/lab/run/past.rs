//! Events that were, those of a log's client, and the run of the part that is looked at.
//!
//! All of them are decided once. States are kept at some of them, so that another part is decided
//! from the last of these on, with a history as fine as that part needs, and the log never again.

use super::{Arrival, Experiment, Run, Source};
use crate::lab::lane::history::Grain;
use crate::text::ParseError;
use crate::time::{Span, Time};

/// At how many events states are kept.
const MARKS: usize = 64;

/// Events that were.
#[derive(Clone, Debug)]
pub struct Past<E: Experiment> {
    events: Vec<(Time, f64)>,
    /// Before the event of that place.
    marks: Vec<(usize, E)>,
    /// After all events.
    end: E,
    /// From the first to the second of these instants.
    run: Run<E>,
    known: [Time; 2],
    grain: Grain,
}

impl<E: Experiment + Clone> Past<E> {
    /// All of the events, with their times, in order, and their costs.
    ///
    /// # Errors
    /// When a setting has a value that [`Named::set`](super::Named::set) would have refused.
    pub fn new(settings: E::Settings, events: Vec<(Time, f64)>) -> Result<Self, ParseError> {
        let begin = events.first().map_or(Time::ZERO, |(at, _)| *at);
        let mut end = E::new(&settings, begin)?.afresh(begin, Grain::COARSEST);
        let mut marks = Vec::with_capacity(MARKS + 1);
        let apart = events.len() / MARKS + 1;
        for (place, event) in events.iter().enumerate() {
            if place % apart == 0 {
                end = end.afresh(event.0, Grain::COARSEST);
                marks.push((place, end.clone()));
            }
            put(&mut end, event);
        }
        let run = Run::of(settings, end.afresh(begin, Grain::COARSEST), begin, Vec::new());
        let known = [Time::LAST, Time::ZERO];
        Ok(Past { events, marks, end, run, known, grain: Grain::COARSEST })
    }

    /// Looks at the time between two instants.
    pub fn look(&mut self, from: Time, to: Time) {
        // Twice the stretch is decided, with half of it more on either side, since a user looks there next.
        let [half, twice] =
            [0.5, 2.0].map(|part| Span::from_secs(part * to.since(from)).unwrap_or_default());
        let grain = Grain::of(twice);
        if self.known[0] <= from && to <= self.known[1] && self.grain <= grain {
            return;
        }
        let [from, to] = [from.before(half), to.after(half)];
        let upto = |at: Time| self.events.partition_point(|(time, _)| *time < at);
        let (first, last) = (upto(from), upto(to));
        let mark = self.marks.partition_point(|(place, _)| *place <= first);
        let mut experiment = match mark.checked_sub(1).and_then(|mark| self.marks.get(mark)) {
            None => self.end.clone(),
            Some((place, states)) => {
                let mut states = states.clone();
                self.events[*place..first].iter().for_each(|event| put(&mut states, event));
                states
            }
        };
        experiment = experiment.afresh(from, grain);
        let sources = vec![Source::given(self.events[first..last].to_vec())];
        self.run = Run::of(self.run.settings.clone(), experiment, from, sources);
        self.run.advance(to, usize::MAX);
        (self.known, self.grain) = ([from, to], grain);
    }

    /// The run of the part that is looked at.
    pub fn run(&self) -> &Run<E> {
        &self.run
    }

    /// The states and counts after all events.
    pub fn end(&self) -> &E {
        &self.end
    }

    /// All of the events.
    pub fn events(&self) -> &[(Time, f64)] {
        &self.events
    }
}

fn put<E: Experiment>(states: &mut E, event: &(Time, f64)) {
    states.event(&Arrival { at: event.0, cost: event.1, user: 0 });
}
