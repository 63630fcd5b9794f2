//! Josiah Carlson's "Introduction to rate limiting with Redis": several limits on one key.

use crate::judged::Judged;
use crate::policy::{Sent, check, policy, store};
use ratescope::{MemoryStore, Time};

fn send(store: &MemoryStore, micros: i64) -> Judged {
    check(store, &Sent { at: Time::from_micros(micros), cost: 1.0, from: ["ann", "x"] })
}

/// Events at a steady gap: how many pass in each minute.
fn per_minute(store: &MemoryStore, gap_micros: i64, minutes: i64) -> Vec<usize> {
    let mut allowed = vec![0; minutes as usize];
    for at in (0..minutes * 60_000_000).step_by(gap_micros as usize) {
        allowed[(at / 60_000_000) as usize] += usize::from(send(store, at).is_allowed());
    }
    allowed
}

/// His example: 10 a second, 120 a minute, 240 an hour, for a client that sends a hundred
/// a second for ten minutes. His first version counts one limit after the other, and events that the
/// limit per second refuses use up those per minute and per hour. Counted rightly, the client
/// gets all of its 240, in whichever order the limits are written.
#[test]
fn refused_events_use_up_no_other_limit() {
    let mut want = vec![120, 120];
    want.resize(10, 0);
    for text in [
        "10/1s & 120/1m & 240/1h",
        "240/1h & 120/1m & 10/1s",
        "120/1m & 240/1h & 10/1s",
        "10/1s & 120/1m & 240/1h precision 1m",
        "240/1h precision 1m & 10/1s & 120/1m",
    ] {
        assert_eq!(per_minute(&store(policy(text)), 10_000, 10), want, "{text}");
    }
}

/// The wait, the reason and the time to come back are those of the limit that decides.
#[test]
fn the_reason_is_the_limit_that_decides() {
    let store = store(policy("10/1s & 15/1m & leaky-bucket 100/1s queue 100"));
    let text = |at| {
        let together = send(&store, at);
        let event = Sent { at: Time::from_micros(at), cost: 1.0, from: ["ann", "x"] };
        (together.to_string(), together.by, event.ask(|event| store.retry_after(event)).to_string())
    };
    let says = |text: &str, by, again: &str| (text.to_owned(), by, again.to_owned());
    assert_eq!(text(0), says("allowed: level 1, limit 10", 0, "now"));
    assert_eq!(text(0), says("allowed in 10ms: level 2, limit 10", 0, "now"));
    for _ in 2..10 {
        assert!(send(&store, 0).is_allowed());
    }
    assert_eq!(text(0), says("refused: level 11, limit 10", 0, "in 1s"));
    for _ in 10..15 {
        assert!(send(&store, 1_000_000).is_allowed());
    }
    assert_eq!(text(1_000_000), says("refused: level 16, limit 15", 1, "in 59s"));
}
