//! The sources of a run's events.

use crate::traffic::{Pattern, Traffic};
use ratescope::text::BadNumber;
use ratescope::time::Time;

/// An event of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When it comes.
    pub at: Time,
    /// The cost.
    pub cost: f64,
    /// The number of its sender; sender 0 sends the clicks and the generated events.
    pub user: u32,
    /// For a recorded event, whether it was refused where it was recorded, if known. It is shown so, whatever the
    /// limiter here decides.
    pub refused: Option<bool>,
}

/// A recorded event by its time and cost.
impl From<(Time, f64)> for Arrival {
    fn from((at, cost): (Time, f64)) -> Self {
        Arrival { at, cost, user: 0, refused: None }
    }
}

/// Events that are still to come, in order.
#[derive(Clone, Debug)]
pub struct Source {
    /// When the next event comes; [`Time::LAST`] means never.
    pub(super) next: Time,
    stream: Stream,
    /// The mean number of events a second; 0 for a burst and for a list.
    pub(super) per_second: f64,
    /// The cost of the last event; `None` for that of the settings.
    pub(super) cost: Option<f64>,
    /// True if the last event was refused where it was recorded; `None` if that is unknown.
    pub(super) refused: Option<bool>,
    pub(super) user: u32,
}

#[derive(Clone, Debug)]
enum Stream {
    /// The number of events after the next one, at the same instant.
    Burst(u32),
    /// The events of a list after the next one, and the next one.
    Given(std::vec::IntoIter<Arrival>, Option<Arrival>),
    /// Traffic up to, but excluding, an instant.
    Flow(Traffic, Time),
}

impl Source {
    /// `count` events at an instant.
    pub(crate) fn burst(count: u32, at: Time) -> Self {
        Source::new(Stream::Burst(count), at, 0.0)
    }

    /// [`Traffic`] from `from` up to, but excluding, `to`.
    ///
    /// # Errors
    /// As for [`Traffic::new`].
    pub(crate) fn flow(
        pattern: Pattern,
        per_second: f64,
        seed: u64,
        from: Time,
        to: Time,
    ) -> Result<Self, BadNumber> {
        let traffic = Traffic::new(pattern, per_second, seed, from)?;
        Ok(Source::new(Stream::Flow(traffic, to), from, per_second))
    }

    /// The recorded events of a list, in the order of time.
    pub(super) fn given(events: Vec<Arrival>) -> Self {
        Source::new(Stream::Given(events.into_iter(), None), Time::ZERO, 0.0)
    }

    fn new(stream: Stream, next: Time, per_second: f64) -> Self {
        let mut source = Source { next, stream, per_second, cost: None, refused: None, user: 0 };
        source.take();
        source
    }

    /// Gives the events the cost `cost` and the sender `user`.
    pub(crate) fn sent_by(self, user: u32, cost: f64) -> Self {
        Source { cost: Some(cost), user, ..self }
    }

    /// Removes the next event, and sets `cost` to its cost.
    #[inline(always)]
    pub(super) fn take(&mut self) {
        self.next = match &mut self.stream {
            Stream::Burst(0) => Time::LAST,
            Stream::Burst(left) => {
                *left -= 1;
                self.next
            }
            Stream::Given(list, next) => {
                let taken = core::mem::replace(next, list.next());
                self.cost = taken.map(|event| event.cost);
                self.refused = taken.and_then(|event| event.refused);
                next.map_or(Time::LAST, |event| event.at)
            }
            Stream::Flow(traffic, to) => traffic.next_before(*to).unwrap_or(Time::LAST),
        };
    }
}
