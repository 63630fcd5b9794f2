//! A limit that several processes share, about the events of a log.

use ratescope::policy::{Limit, Policy};
use ratescope::{Event, Outcome, Retry};
use ratescope_lab::lane::processes::{Asked, Balance, Processes, Shared, Sharing};
use ratescope_lab::lane::shared_limit;
use ratescope_lab::view::compare::told;
use std::collections::HashMap;
use std::io;

/// The most keys of all processes together: each takes some hundreds of bytes, and its state.
const STATES: usize = 500_000;

/// The processes.
#[derive(Clone, Copy, clap::Args)]
pub(super) struct Among {
    /// How many processes decide, for limiters that say at their end how these share the limit: share exact, share
    /// leased 100ms, share synced 1s, or share alone
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=50))]
    processes: u32,

    /// Which of them gets an event: "in turn", "by chance", "by key", or "all to one"
    #[arg(long, value_name = "HOW", default_value_t = Balance::InTurn)]
    balance: Balance,

    /// How long their calls to Redis take, there and back
    #[arg(long, value_name = "SPAN", default_value = "2ms", value_parser = call)]
    call: ratescope::Span,
}

fn call(text: &str) -> Result<ratescope::Span, String> {
    let span: ratescope::Span = text.parse().map_err(|e: ratescope::ParseError| e.to_string())?;
    if span <= ratescope::Span::from_secs(10) {
        Ok(span)
    } else {
        Err("choose up to 10s".to_owned())
    }
}

impl Among {
    pub(super) fn processes(self) -> Processes {
        Processes { count: self.processes, balance: self.balance, call: self.call }
    }
}

/// A limit that several processes share, and its keys by their numbers.
pub(crate) struct Several {
    limit: Limit,
    shared: Shared,
    keys: HashMap<String, usize>,
    most: usize,
    events: u64,
}

impl Several {
    /// Processes that have seen nothing.
    ///
    /// # Errors
    /// When the limit can't be shared in this way.
    pub(super) fn new(
        policy: &Policy,
        sharing: Sharing,
        among: (Processes, u64),
    ) -> Result<Self, String> {
        let limit = shared_limit(policy, sharing)?.clone();
        let shared = Shared::new(limit.limiter.clone(), sharing, among);
        let most = STATES / among.0.count as usize;
        Ok(Several { limit, shared, keys: HashMap::new(), most, events: 0 })
    }

    pub(super) fn limit(&self) -> &Limit {
        &self.limit
    }

    /// How many keys came.
    pub(super) fn keys(&self) -> usize {
        self.keys.len()
    }

    /// By how much the limit was exceeded, and the calls to Redis.
    pub(super) fn told(&self) -> String {
        told(&self.shared)
    }

    /// Decides about an event: its outcome, its key, and the wait at the process that decided.
    ///
    /// # Errors
    /// When there are more keys than `most`, or than all processes have room for: keys are not evicted.
    pub(super) fn check(
        &mut self,
        event: &Event<'_>,
        most: usize,
    ) -> io::Result<(Outcome, String, Retry)> {
        let text = ratescope_lab::tune::key(event.fields, &self.limit.per).into_owned();
        let next = self.keys.len();
        let key = match self.keys.get(&text) {
            Some(key) => *key,
            None if next >= most.min(self.most) => {
                let problem = format!(
                    "at {} s: more than {} keys of a limit that several processes share; keep fewer with a filter, or \
                     take fewer --processes",
                    event.time,
                    most.min(self.most),
                );
                return Err(io::Error::other(problem));
            }
            None => {
                self.keys.insert(text.clone(), next);
                next
            }
        };
        self.events += 1;
        let by = [key as u64, self.events];
        let asked = Asked { at: event.time, cost: event.cost, key, by };
        let outcome = self.shared.check(asked);
        let retry_after = self.shared.retry_after(key, event.time, event.cost);
        let retry_after = if outcome.is_allowed() { Retry::NOW } else { retry_after };
        Ok((outcome, text, retry_after))
    }
}
