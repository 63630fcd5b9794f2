//! A limit in a few lines, and its test, in which nobody waits.
//!
//! `cargo run -p ratescope --example hello`

use ratescope::RateLimiter;
use ratescope::clock::{Clock, MonotonicClock};
use ratescope::limit::gcra::Gcra;

/// Says hello to each name, twice a minute at most.
struct Greeter<C> {
    names: RateLimiter<String, Gcra, C>,
}

impl Greeter<MonotonicClock> {
    fn new() -> Self {
        // At most 10,000 names are remembered.
        Greeter { names: RateLimiter::keyed(Gcra::per_minute(2), 10_000) }
    }
}

impl<C: Clock> Greeter<C> {
    fn greet(&self, name: &str) -> String {
        let checked = self.names.check_key(name);
        match (checked.is_allowed(), checked.retry_after()) {
            (true, _) => format!("hello, {name}"),
            (false, Some(wait)) => format!("{name} again? come back in {wait:?}"),
            (false, None) => format!("never again, {name}"),
        }
    }
}

fn main() {
    let greeter = Greeter::new();
    for name in ["ann", "ann", "ann", "bob"] {
        println!("{}", greeter.greet(name));
    }
}

#[test]
fn each_name_is_greeted_twice_a_minute() {
    use std::time::Duration;
    let clock = ratescope::clock::FakeClock::default();
    let greeter = Greeter { names: Greeter::new().names.with_clock(clock.clone()) };
    let greet = |name| greeter.greet(name);
    assert_eq!(["ann", "ann"].map(greet), ["hello, ann", "hello, ann"]);
    assert_eq!(greet("ann"), "ann again? come back in 30s");
    assert_eq!(greet("bob"), "hello, bob");
    clock.advance(Duration::from_secs(30));
    assert_eq!(greet("ann"), "hello, ann");
    main();
}
