//! Each customer has a limit of its own, which a database knows and may change at any time.
//!
//! `cargo run -p ratescope --example customers`

use ratescope::RateLimiter;
use ratescope::clock::{Clock, MonotonicClock};
use ratescope::limit::gcra::Gcra;
use ratescope::limit::per_key::PerKey;
use std::collections::HashMap;

/// A stand-in for a database: the calls a minute that each customer may make, or 0 for a customer without access.
type Database = HashMap<&'static str, u32>;

struct Api<C = MonotonicClock> {
    calls: RateLimiter<String, PerKey<Gcra>, C>,
}

impl Api {
    /// Those who are in no list make two calls a minute.
    fn new() -> Self {
        Api { calls: RateLimiter::keyed(PerKey::new(Gcra::per_minute(2)), 1_000_000) }
    }
}

impl<C: Clock> Api<C> {
    fn call(&self, database: &Database, customer: &str) -> String {
        let checked = match database.get(customer) {
            Some(&calls) => self.calls.check_key_with(Gcra::per_minute(calls), customer),
            _ => self.calls.check_key(customer),
        };
        if checked.is_allowed() {
            format!("{customer}: {} left", checked.remaining().floor())
        } else {
            match checked.retry_after() {
                Some(wait) => format!("{customer}: again in {wait:?}"),
                None => format!("{customer}: never"),
            }
        }
    }
}

fn main() {
    let mut database = Database::from([("ann", 3)]);
    let api = Api::new();
    for _ in 0..4 {
        println!("{}", api.call(&database, "ann"));
    }
    database.insert("ann", 100); // She pays for more; her earlier calls stay counted.
    println!("{}", api.call(&database, "ann"));
    println!("{}", api.call(&database, "bob"));
}

#[test]
fn what_was_used_stays_used() {
    let api = Api { calls: Api::new().calls.with_clock(ratescope::clock::FakeClock::default()) };
    let mut database = Database::from([("ann", 3)]);
    let call = |database: &Database| api.call(database, "ann");
    assert_eq!([(); 3].map(|()| call(&database)), ["ann: 2 left", "ann: 1 left", "ann: 0 left"]);
    assert_eq!(call(&database), "ann: again in 20s");
    database.insert("ann", 100);
    assert_eq!(call(&database), "ann: 96 left");
    assert_eq!(api.call(&database, "bob"), "bob: 1 left");
    database.insert("eve", 0);
    assert_eq!(api.call(&database, "eve"), "eve: never");
    main();
}
