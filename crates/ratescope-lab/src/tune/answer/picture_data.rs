//! The data of the pictures, also as named lists of numbers, in which the Worker passes them to the page.

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

    /// The names of the parts.
    pub const PARTS: [&str; 10] = [
        "requests",
        "events",
        "recommended",
        "knee",
        "zone",
        "counted",
        "bursts",
        "refusals",
        "clients",
        "stairs",
    ];

    /// The numbers of a part, for [`set`](Self::set); empty if there are none.
    pub fn part(&self, name: &str) -> Vec<f64> {
        match name {
            "requests" => vec![self.requests as f64],
            "events" => {
                let place = nouns().position(|noun| noun == self.events);
                place.map(|place| place as f64).into_iter().collect()
            }
            "recommended" => Vec::from_iter(self.recommended),
            "knee" => Vec::from_iter(self.knee),
            "zone" => self.zone.0.iter().flatten().map(|minutes| f64::from(*minutes)).collect(),
            "counted" => self.counted.as_flattened().to_vec(),
            "bursts" => {
                let bursts = self.frontier.bursts.iter();
                bursts
                    .flat_map(|b| {
                        [b.burst, b.rate.count(), b.rate.per().as_secs_f64(), b.touched as f64]
                    })
                    .collect()
            }
            "refusals" => {
                let numbers = |r: &Refusals| {
                    let hours = r.hours.0.into_iter().flatten();
                    [r.refused, r.touched, r.done.into()].into_iter().chain(hours)
                };
                self.refusals.iter().flat_map(numbers).map(float).collect()
            }
            "clients" => {
                let Staircase { clients: [a, b, c], marked, requests, .. } = self.staircase;
                Vec::from([a, b, c, marked, requests].map(float))
            }
            "stairs" => {
                let counts = |stair: &Stair| {
                    let [a, b, c] = stair.touched;
                    [a, b, c, stair.marked, stair.refused].map(float)
                };
                let stairs = self.staircase.stairs.iter();
                stairs.flat_map(|stair| [stair.limit].into_iter().chain(counts(stair))).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Sets a part to the numbers of a [`part`](Self::part). Other numbers give data without meaning.
    pub fn set(&mut self, name: &str, numbers: &[f64]) {
        let first = numbers.first().copied();
        match name {
            "requests" => self.requests = first.unwrap_or(0.0) as u64,
            "events" => {
                let noun = first.and_then(|place| nouns().nth(place as usize));
                self.events = noun.unwrap_or("");
            }
            "recommended" => self.recommended = first,
            "knee" => self.knee = first,
            "zone" => {
                self.zone = Zone(numbers.first_chunk().map(|range| range.map(|n| n as i16)));
            }
            "counted" => self.counted = numbers.as_chunks().0.to_vec(),
            "bursts" => {
                let burst = |[burst, count, per, touched]: &[f64; 4]| {
                    let rate = Rate::new(*count, Span::try_from_secs_f64(*per).ok()?).ok()?;
                    Some(Burst { burst: *burst, rate, touched: *touched as u64 })
                };
                self.frontier.bursts = numbers.as_chunks().0.iter().filter_map(burst).collect();
            }
            "refusals" => {
                self.refusals = numbers.split_first_chunk().map(|(counts, hours)| {
                    let [refused, touched, done] = counts.map(|n: f64| n as u64);
                    let hours = hours.iter().map(|n| *n as u64).collect();
                    Refusals { hours, refused, touched, done: done == 1 }
                });
            }
            "clients" => {
                let counts = numbers.first_chunk().copied().unwrap_or_default();
                let [a, b, c, marked, requests] = counts.map(|n: f64| n as u64);
                let stairs = core::mem::take(&mut self.staircase.stairs);
                self.staircase = Staircase { clients: [a, b, c], marked, requests, stairs };
            }
            "stairs" => {
                let stair = |[limit, counts @ ..]: &[f64; 6]| {
                    let [a, b, c, marked, refused] = counts.map(|n| n as u64);
                    Stair { limit: *limit, touched: [a, b, c], marked, refused }
                };
                self.staircase.stairs = numbers.as_chunks().0.iter().map(stair).collect();
            }
            _ => {}
        }
    }
}

fn float(n: u64) -> f64 {
    n as f64
}
