//! Requests that can't be read are refused. A proxy may let requests pass on an error of the service, so with an error,
//! a client that can make a request unreadable would have no limits.

use super::message::RateLimitResponse;
use super::meters::Meters;
use super::response;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use ratescope::internal::shown;
use ratescope::{Span, Time};

/// The time from one line of the log to the next.
const PAUSE: Span = Span::from_mins(1);

/// The most characters of a reason.
const LONGEST: usize = 200;

/// Refuses, counts and logs them.
#[derive(Default)]
pub(super) struct Unread {
    /// When the next line may be logged, in microseconds.
    next: AtomicI64,
    /// The number of requests since the last line.
    passed_over: AtomicU64,
}

impl Unread {
    /// The refusal of a request with `descriptors` descriptors, 0 if their number is unknown.
    pub(super) fn refuse(
        &self,
        why: &str,
        descriptors: usize,
        now: Time,
        meters: &Meters,
    ) -> RateLimitResponse {
        let why = shown(why, LONGEST);
        meters.count_unread();
        let next = self.next.load(Ordering::Relaxed);
        let now = now.as_micros();
        let then = now.saturating_add(PAUSE.micros_up());
        // Of several threads, one logs. After the clock was set back, one may log again.
        let is_due = now >= next || next > then;
        let is_first = || {
            let order = Ordering::Relaxed;
            self.next.compare_exchange(next, then, order, order).is_ok()
        };
        if is_due && is_first() {
            let passed_over = self.passed_over.swap(0, Ordering::Relaxed);
            tracing::warn!(target: "ratescope", passed_over, "refused, as it can't be read: {why}");
        } else {
            self.passed_over.fetch_add(1, Ordering::Relaxed);
        }
        response::unread(&why, descriptors)
    }
}
