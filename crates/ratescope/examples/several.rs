//! Several limits at once: a mail counts for its user and for its address, or, if one of the two refuses it, for neither.
//!
//! `cargo run -p ratescope --example several`

use ratescope::clock::{Clock, SystemClock};
use ratescope::{Event, MemoryStore, ParseError, Policy, Time};

struct Mails {
    limits: MemoryStore,
}

impl Mails {
    fn new() -> Result<Self, ParseError> {
        let policy: Policy =
            "gcra 3/1m per user & gcra 4/1m per ip & fixed-window 1000/1d per all".parse()?;
        Ok(Mails { limits: MemoryStore::new(policy, 100_000) })
    }

    fn may_send(&self, time: Time, user: &str, ip: &str) -> bool {
        let fields = &[("user", user), ("ip", ip)];
        self.limits.check(&Event { time, cost: 1.0, fields }).is_allowed()
    }
}

fn main() -> Result<(), ParseError> {
    let mails = Mails::new()?;
    for user in ["ann", "ann", "ann", "ann", "bob", "bob"] {
        println!("{user}: {}", mails.may_send(SystemClock.now(), user, "192.0.2.7"));
    }
    Ok(())
}

#[test]
fn what_is_refused_counts_nowhere() -> Result<(), ParseError> {
    let mails = Mails::new()?;
    let send = |user| mails.may_send(Time::ZERO, user, "192.0.2.7");
    assert_eq!(["ann"; 4].map(send), [true, true, true, false]);
    assert_eq!(["bob"; 2].map(send), [true, false], "four in all from this address");
    assert!(mails.may_send(Time::ZERO, "bob", "192.0.2.8"));
    main()
}
