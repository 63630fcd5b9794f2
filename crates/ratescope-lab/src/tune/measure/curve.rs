//! The curve: for every limit, the clients that it would have touched and, if they can be counted for all limits at
//! once, the requests that it would have refused.

use super::highest::Highest;
use super::histogram::{Histogram, Rank};
use super::level::{Events, Measure, Meter};
use super::scale::{Over, Scale, mark, place};
use crate::tune::outliers::outliers;
use crate::tune::threads::on_each;
use crate::tune::{Clients, Moment};
use core::ops::Range;
use core::sync::atomic::{AtomicUsize, Ordering};
use ratescope::time::Time;

/// A part of a log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// All of it.
    Whole,
    /// The events before the [cut](Clients::usual_cut): limits are learned from it.
    Learned,
    /// The events after it: limits are checked on them. Their levels include the events before the cut.
    Checked,
}

/// The levels of clients and of their requests by a measure.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// The levels of clients, by part.
    pub(super) clients: [Histogram; 3],
    /// The levels of requests, before the cut and after it.
    pub(super) requests: [Histogram; 2],
}

/// The levels of all clients by a measure, which give the effects of all limits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Curve {
    /// The measure.
    pub measure: Measure,
    /// All clients.
    pub all: Tally,
    /// The clients marked as legitimate, which must not be refused.
    pub marked: Tally,
    /// The clients without which a limit is chosen: those to be stopped, and those left out by the user.
    pub aside: Tally,
    /// The times of the first and the last event; `None` without events.
    pub times: Option<(Time, Time)>,
    /// The highest level of each client.
    highest: Highest,
}

/// How many clients a thread takes at once. Busy clients come early in the list, and no thread must get all of them.
const AT_ONCE: usize = 1024;

impl Tally {
    /// The number of clients with an event in a part.
    pub fn clients(&self, part: Part) -> u64 {
        self.clients[part as usize].total()
    }

    /// The number of clients that a limit would have touched in a part. Between two marks of the [scale](super::scale),
    /// it is the number for the lower mark, which is no less.
    pub fn touched(&self, part: Part, limit: f64) -> u64 {
        match place(limit) {
            Some(place) => self.clients[part as usize].over(place),
            None => self.clients(part),
        }
    }

    /// The number of requests measured in a part; 0 if they can't be counted for all limits at once.
    pub fn requests(&self, part: Part) -> u64 {
        self.sum(part, Histogram::total)
    }

    /// The number of requests that a limit would have refused in a part; between marks as [`touched`](Self::touched).
    pub fn refused(&self, part: Part, limit: f64) -> u64 {
        match place(limit) {
            Some(place) => self.sum(part, |requests| requests.over(place)),
            None => self.requests(part),
        }
    }

    fn sum(&self, part: Part, of: impl Fn(&Histogram) -> u64) -> u64 {
        let [learned, checked] = &self.requests;
        match part {
            Part::Whole => of(learned) + of(checked),
            Part::Learned => of(learned),
            Part::Checked => of(checked),
        }
    }

    fn add(&mut self, other: &Tally) {
        let clients = self.clients.iter_mut().zip(&other.clients);
        let requests = self.requests.iter_mut().zip(&other.requests);
        clients.chain(requests).for_each(|(mine, its)| mine.add(its));
    }

    /// Adds a client that represents `weight` clients, and returns the rank of its highest level. `alone` is the number
    /// of marks below its levels if every event is a level by itself. `levels` is scratch memory.
    fn client(
        &mut self,
        meter: &Meter,
        (events, split): (&Events, usize),
        alone: [Option<Rank>; 2],
        weight: u64,
        levels: &mut Vec<f64>,
    ) -> Option<Rank> {
        if meter.is_idle(events) {
            return self.add_client(alone, weight);
        }
        let measure = meter.measure;
        let scale = Scale::new();
        let over = measure.over();
        if !measure.counts_all() {
            let peaks = meter.peaks(events, split, levels);
            return self.add_client(peaks.map(|peak| Some(scale.over(over, peak?.0))), weight);
        }
        meter.levels(events, levels);
        let (before, after) = levels.split_at_checked(split).unwrap_or_default();
        let [learned, checked] = &mut self.requests;
        let highest = [(before, learned), (after, checked)].map(|(levels, requests)| {
            let ranks = levels.iter().map(|level| scale.over(over, *level));
            ranks.inspect(|marks| requests.add_n(*marks, weight)).max()
        });
        self.add_client(highest, weight)
    }

    /// Adds a client by the number of marks below its highest levels before and after the cut. Returns the higher
    /// number.
    #[inline(always)]
    fn add_client(&mut self, [learned, checked]: [Option<Rank>; 2], weight: u64) -> Option<Rank> {
        let [whole, before, after] = &mut self.clients;
        let add = |histogram: &mut Histogram, marks: Option<Rank>| {
            if let Some(marks) = marks {
                histogram.add_n(marks, weight);
            }
        };
        let highest = learned.max(checked);
        add(whole, highest);
        add(before, learned);
        add(after, checked);
        highest
    }
}

impl Curve {
    /// A curve without clients.
    pub fn new(measure: Measure) -> Self {
        Curve {
            measure,
            all: Tally::default(),
            marked: Tally::default(),
            aside: Tally::default(),
            times: None,
            highest: Highest::default(),
        }
    }

    /// The curve of all clients, learned from the events before `cut`.
    pub fn of(clients: &Clients, measure: Measure, cut: Option<Time>) -> Self {
        let mut curve = [Curve::new(measure)];
        Curve::add_clients(&mut curve, clients, cut, 0..clients.len());
        let [curve] = curve;
        curve
    }

    /// Adds the clients at some places to curves, as [`add_clients`](Self::add_clients) does, with all processors.
    pub(in crate::tune) fn add_clients_on_all(
        curves: &mut [Curve],
        clients: &Clients,
        cut: Option<Time>,
        places: Range<usize>,
    ) {
        if places.len() <= AT_ONCE || cfg!(target_arch = "wasm32") {
            Curve::add_clients(curves, clients, cut, places);
            return;
        }
        let next = AtomicUsize::new(places.start);
        let empty: Vec<Curve> = curves.iter().map(|curve| Curve::new(curve.measure)).collect();
        let parts = on_each(|| {
            let mut curves = empty.clone();
            loop {
                let from = next.fetch_add(AT_ONCE, Ordering::Relaxed);
                if from >= places.end {
                    return curves;
                }
                Curve::add_clients(&mut curves, clients, cut, from..places.end.min(from + AT_ONCE));
            }
        });
        for part in parts {
            curves.iter_mut().zip(&part).for_each(|(all, part)| all.add(part));
        }
    }

    /// Adds the clients at some places to curves. Each client's events are read once for all curves.
    /// Neither the steps nor the order in which places are added matter.
    pub fn add_clients(
        curves: &mut [Curve],
        clients: &Clients,
        cut: Option<Time>,
        places: Range<usize>,
    ) {
        let mut events = Events::default();
        let mut levels = Vec::new();
        let meters: Vec<Meter> = curves.iter().map(|curve| Meter::new(curve.measure)).collect();
        let scale = Scale::new();
        let mut times = None;
        for at in places.start..places.end.min(clients.len()) {
            events.fill(clients.moments(at));
            let before = |at| events.moments.partition_point(|moment| moment.time < at);
            let split = cut.map_or(events.moments.len(), before);
            let alone = events.alone(split).map(|level| Some(scale.over(Over::AboveLimit, level?)));
            let ends = events.moments.first().zip(events.moments.last());
            times = span(times, ends.map(|(first, last)| (first.time, last.time)));
            let weight = clients.weight(at);
            for (curve, meter) in curves.iter_mut().zip(&meters) {
                let highest = curve.all.client(meter, (&events, split), alone, weight, &mut levels);
                highest.into_iter().for_each(|highest| curve.highest.set(at, highest));
            }
        }
        curves.iter_mut().for_each(|curve| curve.times = span(curve.times, times));
    }

    /// The part from which a limit is learned: the whole log if one of its two parts is empty.
    pub fn learned_from(&self) -> Part {
        let both = [Part::Learned, Part::Checked].iter().all(|part| self.counted(*part) > 0);
        if both { Part::Learned } else { Part::Whole }
    }

    /// The number of clients in a part that a limit should leave alone: all but those [left aside](Self::aside).
    pub(in crate::tune) fn counted(&self, part: Part) -> u64 {
        self.all.clients(part) - self.aside.clients(part)
    }

    /// The number of these clients that a limit would have touched.
    pub(in crate::tune) fn touched_by_mistake(&self, part: Part, limit: f64) -> u64 {
        self.all.touched(part, limit) - self.aside.touched(part, limit)
    }

    /// The places of the clients [far above all others](crate::tune::outliers) in the part from which limits are
    /// learned, without clients that are marked or left aside (not free).
    pub(in crate::tune) fn outliers(
        &self,
        clients: &Clients,
        cut: Option<Time>,
        is_free: impl Fn(usize) -> bool,
    ) -> Vec<usize> {
        let part = self.learned_from();
        let [all, marked, aside] =
            [&self.all, &self.marked, &self.aside].map(|tally| &tally.clients[part as usize]);
        // A level counts as the last mark that it reaches.
        let reached = |marks: Rank| match self.measure.over() {
            Over::AtLimit => marks.checked_sub(1),
            Over::AboveLimit => Some(marks).filter(|marks| *marks > 0),
        };
        let level = |marks: Rank| reached(marks).map_or(0.0, mark);
        let others = |(marks, n): (Rank, u64)| {
            (level(marks), n - (marked.with(marks) + aside.with(marks)).min(n))
        };
        let mut levels: Vec<(f64, u64)> =
            all.counted().map(others).filter(|(_, n)| *n > 0).collect();
        levels.reverse();
        let Some((_, lowest)) = outliers(&levels) else { return Vec::new() };
        let cut = cut.filter(|_| part == Part::Learned);
        let within = self.within(lowest.next_down());
        let learned = |moment: &Moment| cut.is_none_or(|cut| moment.time < cut);
        let is_high = |client: &usize| {
            let moments = clients.moments(*client).take_while(learned);
            let peak = self.measure.peak(moments);
            peak.is_some_and(|peak| place(peak.level) >= place(lowest))
        };
        let free = |client: &usize| is_free(*client) && !within(*client);
        (0..clients.len()).filter(free).filter(is_high).collect()
    }

    /// The number of clients that a limit would have touched, as [`Tally::touched`].
    pub fn touched(&self, limit: f64) -> u64 {
        self.all.touched(Part::Whole, limit)
    }

    /// The number of requests that a limit would have refused, as [`Tally::refused`]; `None` if it can't be counted for
    /// all limits at once.
    pub fn refused(&self, limit: f64) -> Option<u64> {
        self.measure.counts_all().then(|| self.all.refused(Part::Whole, limit))
    }

    /// The mark of the scale that a curve uses for `limit`: the last that is not above it.
    pub fn answers_for(limit: f64) -> f64 {
        place(limit).map_or(0.0, mark)
    }

    /// Marks the clients at some places, in place of earlier marks.
    pub fn mark(&mut self, clients: &Clients, cut: Option<Time>, places: &[usize]) {
        self.marked = self.tally(clients, cut, places);
    }

    /// Leaves the clients at some places aside, in place of earlier ones, when a limit is chosen.
    pub fn leave_aside(&mut self, clients: &Clients, cut: Option<Time>, places: &[usize]) {
        self.aside = self.tally(clients, cut, places);
    }

    fn tally(&self, clients: &Clients, cut: Option<Time>, places: &[usize]) -> Tally {
        let mut some = [Curve::new(self.measure)];
        for &place in places {
            Curve::add_clients(&mut some, clients, cut, place..place + 1);
        }
        let [some] = some;
        some.all
    }

    /// Adds the curve of other places of the same clients, by the same measure.
    pub fn add(&mut self, other: &Curve) {
        self.all.add(&other.all);
        self.marked.add(&other.marked);
        self.aside.add(&other.aside);
        self.times = span(self.times, other.times);
        self.highest.add(&other.highest);
    }

    /// The place of the client with the highest level in the part from which limits are learned, which ends at `cut`,
    /// without the clients at the places `aside`, which are sorted. `None` if no level is over `limit`, or several
    /// clients have the highest level.
    pub fn fastest(
        &self,
        clients: &Clients,
        cut: Option<Time>,
        limit: f64,
        aside: &[usize],
    ) -> Option<usize> {
        let cut = cut.filter(|_| self.learned_from() == Part::Learned);
        let within = self.within(limit);
        let level = |place| {
            let learned = |moment: &Moment| cut.is_none_or(|cut| moment.time < cut);
            Some(self.measure.peak(clients.moments(place).take_while(learned))?.level)
        };
        let mut fastest: Option<(f64, Option<usize>)> = None;
        let among = |place: &usize| !within(*place) && aside.binary_search(place).is_err();
        for place in (0..clients.len()).filter(among) {
            let over = |level: &f64| self.measure.over().is_over(*level, limit);
            let Some(level) = level(place).filter(over) else { continue };
            match fastest {
                Some((highest, _)) if level < highest => {}
                Some((highest, _)) if level == highest => fastest = Some((level, None)),
                _ => fastest = Some((level, Some(place))),
            }
        }
        fastest?.1
    }

    /// Tells whether `limit` certainly refuses the client at a place nothing.
    ///
    /// Up to its first refusal, a limiter has counted everything. So it refuses a client something if and only if the
    /// client's highest level, when everything is counted, is over the limit.
    pub(super) fn within(&self, limit: f64) -> impl Fn(usize) -> bool + '_ {
        self.highest.within(limit)
    }
}

/// From the first to the last of two spans of time.
fn span(a: Option<(Time, Time)>, b: Option<(Time, Time)>) -> Option<(Time, Time)> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (a, b) => a.or(b),
    }
}
