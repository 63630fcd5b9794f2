//! What is found out about a log, before it is printed.

use super::read::Read;
use super::server::Server;
use super::swept::Swept;
use ratescope::lab::tune::{
    Advice, Aim, Burst, ClientRow, Clients, Curve, Cut, Frontier, LogClock, MarkedKeys, Measure,
    PERIODS, Part, Replay, Summary, advise, scale,
};
use ratescope::policy::export::Target;
use ratescope::{ParseError, Span};
use std::num::NonZero;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;

/// The whole answer.
pub(crate) struct Answer<'a> {
    pub(crate) read: &'a Read,
    pub(crate) summary: &'a Summary,
    /// By which its times are told.
    pub(crate) clock: LogClock,
    /// One curve a period, and what it recommends; the first is the one that is shown.
    pub(crate) periods: Vec<(Span, Curve, Advice)>,
    pub(crate) frontier: Frontier,
    /// The recommended one of these.
    pub(crate) tightest: Option<Burst>,
    /// The limits of the shown curve: whom each touches, and how many requests it refuses.
    pub(crate) rows: Vec<Row>,
    /// The recommended limit of the shown curve over all events, and the recommended bucket.
    pub(crate) replay: Option<Replay>,
    pub(crate) bucket: Option<Replay>,
    /// What each server that was asked for should be told.
    pub(crate) servers: Vec<Server>,
    pub(crate) busiest: Vec<ClientRow>,
}

/// A limit of the curve.
pub(crate) struct Row {
    pub(crate) limit: f64,
    pub(crate) touched: u64,
    /// Of them, those that are marked as legitimate.
    pub(crate) marked: u64,
    pub(crate) refused: u64,
}

/// How many busy clients are shown.
const BUSIEST: usize = 10;

impl<'a> Answer<'a> {
    pub(crate) fn new(
        read: &'a Read,
        (periods, swept): (&[Span], &Swept),
        aim: &Aim,
        marks: &MarkedKeys,
        targets: &[Target],
    ) -> Result<Self, ParseError> {
        let clients = &read.summary.clients;
        let clock = read.summary.clock();
        let cut = Cut::usual(clients, marks.places(clients));
        let of_periods = |frontier: Option<&Frontier>| -> Vec<(Span, Measure)> {
            let measured = |per: &Span| Some((*per, swept.measure(*per, frontier)?));
            periods.iter().filter_map(measured).collect()
        };
        let mut measured = of_periods(None);
        let measures = measured.iter().map(|(_, measure)| *measure);
        let measures: Vec<Measure> = measures.chain(Frontier::measures()).collect();
        let mut found = curves(clients, &measures, &cut);
        let backlogs = found.split_off(measured.len());
        let part = backlogs.first().map_or(Part::Whole, Curve::learned_from);
        let frontier = Frontier::new(&backlogs, aim, part);
        // The rate of a bucket is one of the frontier.
        if measured.is_empty() {
            measured = of_periods(Some(&frontier));
            let measures: Vec<Measure> = measured.iter().map(|(_, measure)| *measure).collect();
            found = curves(clients, &measures, &cut);
        }
        let periods: Vec<_> = measured.iter().map(|(period, _)| *period).zip(found).collect();
        let advised = |(per, curve): (Span, Curve)| {
            let advice = advise(&curve, aim);
            (per, curve, advice)
        };
        let periods: Vec<_> = periods.into_iter().map(advised).collect();
        let run = |limiter| Replay::run(clients, limiter, &clock);
        let shown = periods.first();
        let limiter = shown.and_then(|(_, _, advice)| advice.limiter.clone());
        let tightest = shown.and_then(|(per, ..)| frontier.tightest(*per));
        let bucket = tightest.and_then(|at| Measure::Bucket(at.rate).limiter(at.burst).ok());
        let (replay, bucket, rows, places) = thread::scope(|scope| {
            let bucket = scope.spawn(|| bucket.map(run));
            let busiest = scope.spawn(|| clients.busiest());
            let rows = shown.map(|(_, curve, advice)| rows(clients, curve, advice));
            let replay = limiter.map(run);
            let places: Vec<usize> = busiest.join().into_iter().flatten().take(BUSIEST).collect();
            (replay, bucket.join().ok().flatten(), rows.unwrap_or_default(), places)
        });
        let measure = shown.map(|(_, curve, _)| curve.measure);
        let busiest = ClientRow::of(clients, &places, measure, replay.as_ref(), &cut.marked);
        let period = periods.first().map_or(PERIODS[0], |(period, ..)| *period);
        let known: Vec<&Curve> =
            periods.iter().map(|(_, curve, _)| curve).chain(&backlogs).collect();
        let server = |target: &Target| {
            let of = (clients, &read.summary.per, &clock);
            Server::new(*target, &read.reading, period, aim, of, (&frontier, &known, &cut))
        };
        let servers = targets.iter().map(server).collect::<Result<_, _>>()?;
        Ok(Answer {
            read,
            summary: &read.summary,
            clock,
            periods,
            frontier,
            tightest,
            rows,
            replay,
            bucket,
            servers,
            busiest,
        })
    }
}

/// How many clients a processor takes at once: the busy ones come early, and must not all be one's.
const AT_ONCE: usize = 1024;

/// All curves, by all processors: each takes the next clients as long as there are any.
pub(super) fn curves(clients: &Clients, measures: &[Measure], cut: &Cut) -> Vec<Curve> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let empty = || -> Vec<Curve> { measures.iter().copied().map(Curve::new).collect() };
    let next = AtomicUsize::new(0);
    let part = || {
        let mut curves = empty();
        loop {
            let from = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            if from >= clients.len() {
                return curves;
            }
            clients.measure(&mut curves, cut, from..from + AT_ONCE);
        }
    };
    let parts = thread::scope(|scope| {
        let running: Vec<_> = (0..threads).map(|_| scope.spawn(part)).collect();
        running.into_iter().map(thread::ScopedJoinHandle::join).collect::<Vec<_>>()
    });
    let mut all = empty();
    for part in parts.into_iter().flatten() {
        all.iter_mut().zip(&part).for_each(|(all, part)| all.add(part));
    }
    all
}

/// Usual limits around the recommended one: from where nearly all are touched to where none is.
fn rows(clients: &Clients, curve: &Curve, advice: &Advice) -> Vec<Row> {
    let all = clients.clients();
    let wanted = |limit: &f64| Some(*limit) == advice.limit || scale::is_round(*limit);
    let from = scale::nice().take_while(|limit| curve.touched(*limit) == all).last();
    let limits = scale::nice().filter(wanted).skip_while(|limit| Some(*limit) < from);
    let mut rows = Vec::new();
    for limit in limits {
        let touched = curve.touched(limit);
        // nginx has no burst of a part of a request.
        let Ok(limiter) = curve.measure.limiter(limit) else { continue };
        let replay = || Replay::run(clients, limiter, &LogClock::default()).refused();
        let refused = curve.refused(limit).unwrap_or_else(replay);
        let marked = curve.marked.touched(Part::Whole, limit);
        rows.push(Row { limit, touched, marked, refused });
        if touched == 0 || rows.len() == 24 {
            break;
        }
    }
    rows
}
