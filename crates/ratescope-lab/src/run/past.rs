//! Recorded events, such as those of a log's client, and the run of the visible part.
//!
//! All events are decided once, and the states before some of them are kept. To show a part, its events are decided
//! again from the last states kept before it, with a history as fine as the part needs. So the work depends on the
//! part, not on the length of the log.

use super::{Arrival, Experiment, Run, Source};
use crate::lane::history::Grain;
use ratescope::text::ParseError;
use ratescope::time::{Span, Time};

/// The most indices in the list of events at which states are kept.
const MARKS: usize = 64;

/// Recorded events.
#[derive(Clone, Debug)]
pub struct Past<E: Experiment> {
    events: Vec<Arrival>,
    /// The kept states, each with the index of its next event.
    marks: Vec<(usize, E)>,
    /// The states after all events.
    end: E,
    /// The run of the part between the two instants of `known`.
    run: Run<E>,
    known: [Time; 2],
    grain: Grain,
}

impl<E: Experiment + Clone> Past<E> {
    /// Decides the events, which are in the order of time.
    ///
    /// # Errors
    /// When a setting has a value that [`Named::set`](super::Named::set) would have refused.
    pub fn new(settings: E::Settings, events: Vec<impl Into<Arrival>>) -> Result<Self, ParseError> {
        let events: Vec<Arrival> = events.into_iter().map(Into::into).collect();
        let begin = events.first().map_or(Time::ZERO, |event| event.at);
        let mut end = E::new(&settings, begin)?.with_new_history(begin, Grain::COARSEST);
        let mut marks = Vec::with_capacity(MARKS + 1);
        let apart = events.len() / MARKS + 1;
        for (place, event) in events.iter().enumerate() {
            if place % apart == 0 {
                end = end.with_new_history(event.at, Grain::COARSEST);
                marks.push((place, end.clone()));
            }
            end.event(event);
        }
        let run = Run::with_experiment(
            settings,
            end.with_new_history(begin, Grain::COARSEST),
            begin,
            Vec::new(),
        );
        let known = [Time::LAST, Time::ZERO];
        Ok(Past { events, marks, end, run, known, grain: Grain::COARSEST })
    }

    /// Makes [`run`](Self::run) show the time between two instants, unless it does so already in fine enough columns.
    pub fn look(&mut self, from: Time, to: Time) {
        // Also decides half as much on either side, since a user is likely to look there next.
        let [half, twice] = [0.5, 2.0]
            .map(|part| Span::try_from_secs_f64(part * to.since(from)).unwrap_or_default());
        let grain = Grain::for_span(twice);
        if self.known[0] <= from && to <= self.known[1] && self.grain <= grain {
            return;
        }
        let [from, to] = [from.before(half), to.after(half)];
        let upto = |at: Time| self.events.partition_point(|event| event.at < at);
        let first = upto(from);
        let last = upto(to);
        let mark = self.marks.partition_point(|(place, _)| *place <= first);
        let mut experiment = match mark.checked_sub(1).and_then(|mark| self.marks.get(mark)) {
            // Without events there are no marks, and the end equals the beginning.
            None => self.end.clone(),
            Some((place, states)) => {
                let mut states = states.clone();
                self.events[*place..first].iter().for_each(|event| states.event(event));
                states
            }
        };
        experiment = experiment.with_new_history(from, grain);
        let sources = vec![Source::given(self.events[first..last].to_vec())];
        self.run = Run::with_experiment(self.run.settings.clone(), experiment, from, sources);
        self.run.advance(to, usize::MAX);
        self.known = [from, to];
        self.grain = grain;
    }

    /// The run of the visible part.
    pub fn run(&self) -> &Run<E> {
        &self.run
    }

    /// The states and counts after all events.
    pub fn end(&self) -> &E {
        &self.end
    }

    /// All events.
    pub fn events(&self) -> &[Arrival] {
        &self.events
    }
}
