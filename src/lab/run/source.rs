//! Where the events of a run come from.

use crate::text::BadNumber;
use crate::time::Time;
use crate::traffic::{Pattern, Traffic};

/// An event of a run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Arrival {
    /// When.
    pub at: Time,
    /// What it costs.
    pub cost: f64,
    /// Who sent it, by number; 0 is who sends the clicks and the generated events.
    pub user: u32,
}

/// Events that are still to come, in order.
#[derive(Clone, Debug)]
pub struct Source {
    /// When the next one comes; the last instant means never.
    pub(super) next: Time,
    stream: Stream,
    /// How many a second, in the mean, for as long as there are any.
    pub(super) per_second: f64,
    /// What an event costs; `None` when the settings say.
    pub(super) cost: Option<f64>,
    pub(super) user: u32,
}

#[derive(Clone, Debug)]
enum Stream {
    /// So many more after the next one, at the same instant.
    Burst(u32),
    /// Those of a list, and what the next one costs.
    Given(std::vec::IntoIter<(Time, f64)>, Option<f64>),
    /// Endless traffic, of which what comes from an instant on is left out.
    Flow(Traffic, Time),
}

impl Source {
    /// `count` events at an instant.
    pub(crate) fn burst(count: u32, at: Time) -> Self {
        Source::new(Stream::Burst(count), at, 0.0)
    }

    /// [`Traffic`] from an instant on, of which what comes before `to` is taken.
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

    /// Events with their times, in order, and their costs.
    pub(super) fn given(events: Vec<(Time, f64)>) -> Self {
        Source::new(Stream::Given(events.into_iter(), None), Time::ZERO, 0.0)
    }

    fn new(stream: Stream, next: Time, per_second: f64) -> Self {
        let mut source = Source { next, stream, per_second, cost: None, user: 0 };
        source.take();
        source
    }

    /// The same events, each of them at the cost of `cost` and sent by `user`.
    pub(crate) fn sent_by(self, user: u32, cost: f64) -> Self {
        Source { cost: Some(cost), user, ..self }
    }

    /// Takes the next event out.
    #[inline(always)]
    pub(super) fn take(&mut self) {
        self.next = match &mut self.stream {
            Stream::Burst(0) => Time::LAST,
            Stream::Burst(left) => {
                *left -= 1;
                self.next
            }
            Stream::Given(list, cost) => {
                self.cost = *cost;
                let next = list.next();
                *cost = next.map(|(_, cost)| cost);
                next.map_or(Time::LAST, |(at, _)| at)
            }
            Stream::Flow(traffic, to) => traffic.next_before(*to).unwrap_or(Time::LAST),
        };
    }
}
