//! The data of the pictures, also as plain numbers, in which the Worker passes them to the page.

use super::Analysis;
use crate::tune::{Burst, Frontier, Hours, Stair, Staircase, Zone};
use ratescope::rate::Rate;
use ratescope::time::Span;
use ratescope_log::nouns;

/// The data of the pictures. Parts that are still unknown are empty.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct PictureData {
    /// The curve.
    pub staircase: Staircase,
    /// Limits with their numbers of refused requests, if only a replay can count them.
    pub counted: Vec<[f64; 2]>,
    /// The number of requests.
    pub requests: u64,
    /// The word for requests, in plural.
    pub events: &'static str,
    /// The limit that is recommended.
    pub recommended: Option<f64>,
    /// The limit at which the curve bends.
    pub knee: Option<f64>,
    /// The buckets that leave enough clients alone.
    pub frontier: Frontier,
    /// The clock by which hours are shown.
    pub zone: Zone,
    /// The refusals of the limit in force.
    pub refusals: Option<Refusals>,
}

/// The refusals of a limit.
#[derive(Clone, Debug, PartialEq)]
pub struct Refusals {
    /// Their hours.
    pub hours: Hours,
    /// The number of refused requests.
    pub refused: u64,
    /// The number of clients with a refused request.
    pub touched: u64,
    /// All refusals are counted.
    pub done: bool,
}

impl PictureData {
    /// The data so far.
    pub fn new(analysis: &Analysis) -> Self {
        let mut data = PictureData {
            requests: analysis.clients().requests(),
            events: analysis.imported().events(),
            frontier: analysis.frontier().cloned().unwrap_or_default(),
            zone: analysis.clock().zone,
            ..PictureData::default()
        };
        if let Some((curve, advice)) = analysis.shown() {
            data.staircase = curve.staircase();
            data.recommended = advice.limit;
            data.knee = advice.knee;
            let replayed = analysis.rows().iter().filter(|_| !curve.measure.counts_all());
            let counted = replayed.filter_map(|row| Some([row.limit, row.refused? as f64]));
            data.counted = counted.collect();
        }
        data.refusals = analysis.replayed().map(|replay| Refusals {
            hours: *replay.hours(),
            refused: replay.refused(),
            touched: replay.touched(analysis.clients()).touched,
            done: replay.is_done(),
        });
        data
    }

    /// Writes the data as numbers, for [`from_numbers`](Self::from_numbers).
    pub fn to_numbers(&self) -> Vec<f64> {
        let [recommended, knee] = [self.recommended, self.knee].map(|n| n.unwrap_or(f64::NAN));
        let [low, high] = self.zone.0.map_or([f64::NAN; 2], |range| range.map(f64::from));
        // The index of the word, from 1; 0 without a log.
        let word = nouns().position(|noun| noun == self.events);
        let word = word.map_or(0, |place| place + 1) as f64;
        let mut numbers = vec![self.requests as f64, word, recommended, knee, low, high];
        write_rows(&mut numbers, self.counted.iter().copied());
        write_rows(
            &mut numbers,
            self.frontier
                .bursts
                .iter()
                .map(|at| [at.burst, at.rate.count(), at.rate.per().secs(), at.touched as f64]),
        );
        let refusals = self.refusals.iter();
        write_rows(
            &mut numbers,
            refusals.clone().map(|r| [r.refused, r.touched, r.done.into()].map(float)),
        );
        write_rows(&mut numbers, refusals.flat_map(|r| &r.hours.0).map(|day| day.map(float)));
        let Staircase { clients: [a, b, c], marked, requests, stairs } = &self.staircase;
        write_rows(&mut numbers, [[a, b, c, marked, requests].map(|n| float(*n))].into_iter());
        write_rows(
            &mut numbers,
            stairs.iter().map(|stair| {
                let Stair { limit, touched: [a, b, c], .. } = *stair;
                let counts = [a, b, c, stair.marked, stair.refused];
                let [a, b, c, marked, refused] = counts.map(float);
                [limit, a, b, c, marked, refused]
            }),
        );
        numbers
    }

    /// Reads what [`to_numbers`](Self::to_numbers) wrote. Other numbers give data without meaning.
    pub fn from_numbers(numbers: &[f64]) -> Self {
        let Some((&[requests, word, recommended, knee, low, high], mut rest)) =
            numbers.split_first_chunk()
        else {
            return PictureData::default();
        };
        let known = |n: f64| n.is_finite().then_some(n);
        let counted = read_rows(&mut rest);
        let burst = |[burst, count, per, touched]: [f64; 4]| {
            let rate = Rate::new(count, Span::from_secs(per).ok()?).ok()?;
            Some(Burst { burst, rate, touched: touched as u64 })
        };
        let bursts = read_rows(&mut rest).into_iter().filter_map(burst).collect();
        let refusals = read_rows(&mut rest).pop();
        let hours = read_rows::<24>(&mut rest).into_iter().flatten().map(|n| n as u64).collect();
        let refusals = refusals.map(|[refused, touched, done]| {
            let [refused, touched] = [refused, touched].map(|n| n as u64);
            Refusals { hours, refused, touched, done: done == 1.0 }
        });
        let head = read_rows(&mut rest).pop().unwrap_or_default();
        let [a, b, c, marked, requests_measured] = head.map(|n| n as u64);
        let stair = |[limit, counts @ ..]: [f64; 6]| {
            let [a, b, c, marked, refused] = counts.map(|n| n as u64);
            Stair { limit, touched: [a, b, c], marked, refused }
        };
        PictureData {
            staircase: Staircase {
                clients: [a, b, c],
                marked,
                requests: requests_measured,
                stairs: read_rows(&mut rest).into_iter().map(stair).collect(),
            },
            counted,
            requests: requests as u64,
            events: (word as usize).checked_sub(1).and_then(|at| nouns().nth(at)).unwrap_or(""),
            recommended: known(recommended),
            knee: known(knee),
            frontier: Frontier { bursts },
            zone: Zone(known(low).and(known(high)).map(|_| [low, high].map(|n| n as i16))),
            refusals,
        }
    }
}

fn float(n: u64) -> f64 {
    n as f64
}

/// Appends the number of rows, and then the rows.
fn write_rows<const N: usize>(numbers: &mut Vec<f64>, rows: impl Iterator<Item = [f64; N]>) {
    let at = numbers.len();
    numbers.push(0.0);
    numbers.extend(rows.flatten());
    let rows = (numbers.len() - at) / N;
    if let Some(n) = numbers.get_mut(at) {
        *n = rows as f64;
    }
}

/// Reads the rows of [`write_rows`] from the beginning of `numbers`; fewer if the numbers end early.
fn read_rows<const N: usize>(numbers: &mut &[f64]) -> Vec<[f64; N]> {
    let Some((n, rest)) = numbers.split_first() else { return Vec::new() };
    let (rows, rest) = rest.split_at((*n as usize).saturating_mul(N).min(rest.len()));
    *numbers = rest;
    rows.as_chunks().0.to_vec()
}
