//! The busiest clients: the rows of a table.

use crate::lab::tune::{Clients, Measure, Peak, Replay};
use crate::time::Time;
use std::collections::HashMap;

/// A client, and what a limit makes of it.
#[derive(Clone, Debug, PartialEq)]
pub struct ClientRow {
    /// Its place among the clients.
    pub place: usize,
    /// Its key.
    pub key: String,
    /// Whether it is marked as legitimate.
    pub marked: bool,
    /// Its requests.
    pub requests: u64,
    /// The highest level.
    pub peak: Option<Peak>,
    /// The requests that the limit refused.
    pub refused: u64,
    /// The first of them.
    pub first: Option<Time>,
}

impl ClientRow {
    /// The clients at `places`, with their peaks by `measure`.
    pub fn of(
        clients: &Clients,
        places: &[usize],
        measure: Option<Measure>,
        replay: Option<&Replay>,
        marked: &[bool],
    ) -> Vec<ClientRow> {
        let struck = replay.into_iter().flat_map(Replay::struck);
        let struck: HashMap<usize, _> = struck.map(|struck| (struck.place, struck)).collect();
        let busy = |&place: &usize| {
            let struck = struck.get(&place);
            ClientRow {
                place,
                key: clients.key(place).to_owned(),
                marked: marked.get(place) == Some(&true),
                requests: clients.requests_of(place),
                peak: measure.and_then(|measure| measure.peak(clients.moments(place))),
                refused: struck.map_or(0, |struck| struck.refused),
                first: struck.map(|struck| struck.first),
            }
        };
        places.iter().map(busy).collect()
    }
}
