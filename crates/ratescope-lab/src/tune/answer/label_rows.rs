//! The paths and agents of the requests that the limit in force refuses: their labels.

use super::Analysis;
use crate::tune::Codes;
use core::cmp::Reverse;
use ratescope::internal::{grouped, visible};

/// A label, which is a path or an agent, and its requests.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LabelRow {
    /// The text.
    pub text: String,
    /// The number of its requests that are refused.
    pub refused: u64,
    /// The number of all its requests.
    pub requests: u64,
}

impl LabelRow {
    /// The cells of its row in a table, its text without characters that would change the direction of others.
    pub fn cells(self) -> [String; 3] {
        let shown = self.text.chars().map(visible).collect();
        [shown, grouped(self.refused), grouped(self.requests)]
    }

    /// The paths, then the agents, with the most refused requests: at most `most` of each, and the number of all with
    /// refused requests. Empty if the log has no such field.
    pub fn tables(analysis: &Analysis, most: usize) -> [(Vec<Self>, usize); 2] {
        let mut tables = <[(Vec<Self>, usize); 2]>::default();
        let (Some(labels), Some(replay)) = (&analysis.clients().labels, analysis.replayed()) else {
            return tables;
        };
        for ((table, labels), refused) in tables.iter_mut().zip(labels).zip(replay.refused_by()) {
            let mut codes: Vec<(Reverse<u64>, u16)> = (0..)
                .zip(refused)
                .filter(|(_, n)| **n > 0)
                .map(|(code, n)| (Reverse(*n), code))
                .collect();
            codes.sort_unstable();
            let row = |(Reverse(refused), code): &(Reverse<u64>, u16)| LabelRow {
                text: labels.texts.shown(*code).to_owned(),
                refused: *refused,
                requests: labels.requests.get(usize::from(*code)).copied().unwrap_or(0),
            };
            if codes.iter().any(|(_, code)| *code != Codes::default()[0]) {
                *table = (codes.iter().take(most).map(row).collect(), codes.len());
            }
        }
        tables
    }
}
