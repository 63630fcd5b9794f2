//! Waiting for a store after the clock was set back.

use ratescope::clock::{Clock, FakeClock};
use ratescope::rules::{Details, Store};
use ratescope::waiting::{NotAllowed, Waiting, until_allowed};
use ratescope::{Event, Span, Time};

/// A clock on which each sleep is over at once.
#[derive(Default)]
struct Asleep(FakeClock);

impl Clock for Asleep {
    fn now(&self) -> Time {
        self.0.now()
    }

    async fn sleep(&self, span: Span) {
        self.0.advance(span);
    }
}

/// Fails unless a clock that is set back by an hour lengthens a wait by a period at most: that of an event that waits
/// as long as it takes, or of one that is sent again and again and hardly waits; after one event, or as many as pass.
pub(crate) async fn assert_followed(store: &impl Store) {
    for (is_patient, is_full) in [(true, true), (true, false), (false, true), (false, false)] {
        let user = format!("{is_patient} {is_full}");
        let (fields, clock) = ([("user", user.as_str())], Asleep::default());
        let late =
            Event { time: Time::ZERO.after(Span::from_hours(1)), cost: 1.0, fields: &fields };
        while store.check_async(&late, Details::default()).await.is_allowed() && is_full {}
        let retry = store.peek_async(&late, Details::default().with_retry()).await.retry_after();
        let longest =
            Span::from_secs(1).max(retry.map_or(Span::ZERO, |retry| retry.wait().unwrap()));
        let tenth = Span::try_from_secs_f64(longest.as_secs_f64() / 10.0).unwrap();
        let waiting = Waiting::DEFAULT;
        let waiting = if is_patient { waiting } else { waiting.at_most(tenth) };
        let is_in_time = || clock.now() <= Time::ZERO.after(longest).after(longest);
        while let Err(gave_up) = until_allowed(store, &fields, &clock, waiting).await {
            assert!(matches!(gave_up, NotAllowed::Refused { .. }), "{gave_up}: {}", store.rules());
            clock.0.advance(tenth);
            assert!(is_in_time(), "{}", store.rules());
        }
        assert!(is_in_time(), "{}", store.rules());
    }
}
