//! How long senders wait after a refusal until an event is allowed.

use ratescope::time::{Span, Time};

/// The number of classes of waits: 2^52 microseconds are more than a century.
const LENGTHS: usize = 53;

/// The waits of all senders of a lane. A wait begins with a sender's first refusal since its last allowed
/// event, and ends with the sender's next allowed event.
#[derive(Clone, Debug)]
pub struct Waits {
    /// When the wait of each sender began; `None` for a sender that does not wait.
    since: Vec<Option<Time>>,
    /// The number of waits of each [`class`].
    counts: [u64; LENGTHS],
    /// The shortest wait and the longest.
    range: Option<[Span; 2]>,
}

impl Default for Waits {
    fn default() -> Self {
        Waits { since: Vec::new(), counts: [0; LENGTHS], range: None }
    }
}

impl Waits {
    /// Notes that an event of the sender with the number `sender` was allowed or refused. There are few senders, so
    /// they are in a list.
    pub(super) fn event(&mut self, sender: usize, at: Time, allowed: bool) {
        if self.since.len() <= sender {
            self.since.resize(sender + 1, None);
        }
        let Some(since) = self.since.get_mut(sender) else { return };
        match (*since, allowed) {
            (None, false) => *since = Some(at),
            (Some(begun), true) => {
                *since = None;
                self.end(begun.until(at));
            }
            _ => {}
        }
    }

    fn end(&mut self, wait: Span) {
        if let Some(count) = self.counts.get_mut(class(wait)) {
            *count += 1;
        }
        let [least, most] = self.range.unwrap_or([wait; 2]);
        self.range = Some([least.min(wait), most.max(wait)]);
    }

    /// The shortest wait and the longest; `None` before a wait has ended.
    pub fn range(&self) -> Option<[Span; 2]> {
        self.range
    }

    /// The number of waits in each class of lengths, from the shortest wait to the longest. Each class begins at twice
    /// the length of the previous class.
    pub fn counts(&self) -> &[u64] {
        let Some([least, most]) = self.range else { return &[] };
        self.counts.get(class(least)..=class(most)).unwrap_or_default()
    }
}

/// The class of a wait: the whole part of log2 of its microseconds. A wait below 2 µs is in class 0, and one
/// of more than a century in the last.
fn class(wait: Span) -> usize {
    let micros = (wait.as_secs_f64() * 1e6) as u64;
    (micros.max(1).ilog2() as usize).min(LENGTHS - 1)
}
