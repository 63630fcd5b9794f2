//! The limit that stops the clients far above all others, beside the limit that leaves them alone.

use super::Analysis;
use super::in_words::briefly;
use super::report::one;
use crate::tune::{RefusedClient, Replay, Share, Summary};
use ratescope::internal::{grouped, plural};
use ratescope::limit::any::AnyLimiter;

/// A limit chosen without the [outliers](crate::tune::outliers), and the limit chosen with them.
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

    /// Both limits in two sentences, as in "8 a minute leaves 40 of 41 clients alone and
    /// refuses 392 mails, all of 203.0.113.9; 50 a minute refuses nobody."
    pub fn sentence(&self, analysis: &Analysis) -> String {
        let Plateau { upper, upper_touches, replay, .. } = self;
        let noun = one(analysis.imported().events());
        let Share { touched, clients } = replay.touched(analysis.clients());
        let refused = replay.refused();
        let who = names(&analysis.imported().summary, &replay.most_refused(usize::MAX));
        let above = match upper_touches {
            0 => "nobody".to_owned(),
            n => format!("something to {} client{}", grouped(*n), plural(*n)),
        };
        format!(
            "{} leaves {} of {} clients alone and refuses {} {noun}{}, all of {who}; {} refuses {above}.",
            briefly(replay.limiter()),
            grouped(clients - touched.min(clients)),
            grouped(clients),
            grouped(refused),
            plural(refused),
            briefly(upper),
        )
    }
}

/// The names of clients, the most refused first.
fn names(summary: &Summary, most: &[RefusedClient]) -> String {
    let name = |client: &RefusedClient| summary.name(client.place);
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
