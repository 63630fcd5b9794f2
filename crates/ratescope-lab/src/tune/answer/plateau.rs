//! The limit that stops the clients far above all others, beside the one that leaves them alone.

use super::Analysis;
use super::in_words::briefly;
use super::report::one;
use crate::tune::{RefusedClient, Replay, Share};
use ratescope::internal::{grouped, plural};
use ratescope::limit::any::AnyLimiter;

/// A limit chosen without the [outliers](crate::tune::outliers), and the one chosen with them.
#[derive(Clone, Debug)]
pub struct Plateau {
    /// The places of the outliers.
    pub outliers: Vec<usize>,
    pub(super) upper: AnyLimiter,
    pub(super) upper_touches: u64,
    pub(super) replay: Replay,
}

/// The most clients that a sentence names.
const NAMED: usize = 3;

impl Plateau {
    /// The limit without the outliers.
    pub fn limiter(&self) -> &AnyLimiter {
        self.replay.limiter()
    }

    /// The number of requests that it refuses.
    pub fn refused(&self) -> u64 {
        self.replay.refused()
    }
}

impl Analysis {
    /// Both limits of the [plateau](Self::plateau) in two sentences, as in "8 a minute leaves 40 of 41 clients alone and
    /// refuses 392 mails, all of 203.0.113.9; 50 a minute refuses nobody."
    pub fn plateau_says(&self) -> Option<String> {
        let Plateau { upper, upper_touches, replay, .. } = self.plateau()?;
        let noun = one(self.imported().events());
        let Share { touched, clients } = replay.touched(self.clients());
        let refused = replay.refused();
        let who = self.names(&replay.most_refused(usize::MAX));
        let above = match upper_touches {
            0 => "nobody".to_owned(),
            n => format!("something to {} client{}", grouped(*n), plural(*n)),
        };
        Some(format!(
            "{} leaves {} of {} clients alone and refuses {} {noun}{}, all of {who}; {} refuses {above}.",
            briefly(replay.limiter()),
            grouped(clients - touched.min(clients)),
            grouped(clients),
            grouped(refused),
            plural(refused),
            briefly(upper),
        ))
    }

    /// The names of clients, those that are refused most first.
    fn names(&self, most: &[RefusedClient]) -> String {
        let name = |client: &RefusedClient| self.imported().summary.name(client.place);
        let (first, rest) = most.split_at(most.len().min(NAMED));
        let mut names: Vec<String> = first.iter().map(name).collect();
        match rest.len() {
            0 => {}
            1 => names.push("1 other".to_owned()),
            n => names.push(format!("{} others", grouped(n as u64))),
        }
        match names.pop() {
            Some(last) if names.is_empty() => last,
            Some(last) => format!("{} and {last}", names.join(", ")),
            None => String::new(),
        }
    }

    /// What the limit in force does to each client that is to be stopped, a sentence each, at most `most`; empty until it
    /// is counted.
    pub fn stops(&self, most: usize) -> Vec<String> {
        let Some(replay) = self.replayed().filter(|replay| replay.is_done()) else {
            return Vec::new();
        };
        let noun = one(self.imported().events());
        let says = |place: &usize| {
            let name = self.imported().summary.name(*place);
            let all = self.clients().requests_of(*place);
            let found = replay.refused_clients().iter().find(|client| client.place == *place);
            match found {
                Some(RefusedClient { refused, first, .. }) => format!(
                    "{name} is stopped: {} of its {} {noun}{} are refused, the first on {}.",
                    grouped(*refused),
                    grouped(all),
                    plural(all),
                    self.clock().told(*first),
                ),
                None => format!(
                    "{name} is not stopped: it came no faster than those who are left alone. A longer period shows who \
                     is slow but steady."
                ),
            }
        };
        self.to_stop.iter().take(most).map(says).collect()
    }
}
