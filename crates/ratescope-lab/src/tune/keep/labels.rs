//! The labels of events, which are paths and agents. They are kept to say which requests a limit refuses.

use super::Dictionary;

/// All paths, or all agents, and the number of events with each.
#[derive(Clone, Debug, Default)]
pub(in crate::tune) struct Labels {
    pub(in crate::tune) texts: Dictionary,
    pub(in crate::tune) requests: Vec<u64>,
}

impl Labels {
    pub(super) fn count(&mut self, code: u16, n: u64) {
        let place = usize::from(code);
        if place >= self.requests.len() {
            self.requests.resize(place + 1, 0);
        }
        if let Some(requests) = self.requests.get_mut(place) {
            *requests += n;
        }
    }
}
