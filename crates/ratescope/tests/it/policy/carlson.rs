//! Josiah Carlson's "Introduction to rate limiting with Redis": several limits on one key.

use crate::judged::Judged;
use crate::policy::{Sent, check, policy, store};
use ratescope::policy::Defaults;
use ratescope::{MemoryStore, Policy, Time};

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

/// His counting bug: where attempts are counted, events that one limit refuses use up the others. A client that sends
/// 120 a second gets ten of its 72,000 events in ten minutes through, all of them in the first second, and no more in
/// the hour.
#[test]
fn attempts_use_up_the_other_limits() {
    let attempts =
        "fixed-window 10/1s attempts & fixed-window 120/1m attempts & fixed-window 240/1h attempts";
    let passed = per_minute(&store(policy(attempts)), 8_333, 60);
    assert_eq!((passed[0], passed.iter().sum::<usize>()), (10, 10));
    let passed = per_minute(&store(policy("10/1s & 120/1m & 240/1h")), 8_333, 60);
    assert_eq!((passed[..2].to_vec(), passed.iter().sum()), (vec![120, 120], 240));
}

/// The lists that he passes to his script.
#[test]
fn a_list_of_numbers_is_a_policy() {
    let read = |text: &str| text.parse::<Policy>().map(|policy| policy.to_string());
    let three = "fixed-window 10/1s per all & fixed-window 120/1m per all & \
                 sliding-window 240/1h per all";
    assert_eq!(read("[[1,10],[60,120],[3600,240,60]]").as_deref(), Ok(three));
    let by = three.replace("per all", "per ip+user");
    assert_eq!(read(" [ [1, 10], [60, 120], [3600, 240, 60] ] per ip+user ").as_deref(), Ok(&*by));
    // A block as long as the window is the window, and a longer one is cut to it.
    let windows = "fixed-window 10/1m per all & fixed-window 2/500ms per all";
    let (policy, remarks) =
        Policy::read_with_remarks("[[60, 10, 60], [0.5, 2, 9]]", &Defaults::default()).unwrap();
    assert_eq!(policy.to_string(), windows);
    let remarks: Vec<String> = remarks.iter().map(ToString::to_string).collect();
    let cut =
        "the precision is longer than the duration and was cut to it, which makes a fixed window";
    assert_eq!(remarks, [format!("\"9\" in \"[[60, 10, 60], [0.5, 2, 9]]\": {cut}")]);
    let form = "write [duration, count] or [duration, count, precision], in seconds, as in \
                [[1, 10], [3600, 240, 60]]";
    for (text, wrong) in [
        ("[", format!("a [ is missing; {form}")),
        ("[[1,10]", format!("a ] is missing; {form}")),
        ("[1,10]", format!("\"1\" in \"[1,10]\": a [ is missing; {form}")),
        ("[[1,ten]]", format!("\"ten\" in \"[[1,ten]]\": not a number; {form}")),
        ("[[1,10,1,1]]", format!("\",\" in \"[[1,10,1,1]]\": a ] is missing; {form}")),
        (
            "[[1,10]] & 5/1m",
            "\"&\" in \"[[1,10]] & 5/1m\": after the list comes only a key, as in per user"
                .to_owned(),
        ),
    ] {
        let error = text.parse::<Policy>().unwrap_err().to_string();
        assert!(error.ends_with(&wrong), "{text}: {error}");
    }
    let many = format!("[{}]", ["[1,10]"; 9].join(","));
    let many = many.parse::<Policy>();
    assert!(many.unwrap_err().to_string().ends_with("more than 8 limits"));
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
