//! A limit in a few lines, and its test, in which nobody waits.
//!
//! `cargo run --example hello --features wait`

use ratescope::clock::{Clock, SystemClock};
use ratescope::limit::gcra::Gcra;
use ratescope::store::Keyed;
use std::num::NonZeroU32;

const TWO: NonZeroU32 = NonZeroU32::new(2).unwrap();

/// Says hello to each name, twice a minute at most.
struct Greeter<C> {
    greetings: Keyed<Gcra>,
    clock: C,
}

impl<C: Clock> Greeter<C> {
    fn new(clock: C) -> Self {
        // At most 10,000 names are remembered.
        Greeter { greetings: Keyed::new(Gcra::each_minute(TWO), 10_000), clock }
    }

    fn greet(&self, name: &str) -> String {
        let (outcome, retry) = self.greetings.check_with_retry(name, self.clock.now(), 1.0);
        match outcome.is_allowed() {
            true => format!("hello, {name}"),
            false => format!("{name} again? come back {retry}"),
        }
    }
}

fn main() {
    let greeter = Greeter::new(SystemClock);
    for name in ["ann", "ann", "ann", "bob"] {
        println!("{}", greeter.greet(name));
    }
}

#[test]
fn each_name_is_greeted_twice_a_minute() {
    use ratescope::{Span, clock::FakeClock};
    let clock = FakeClock::default();
    let greeter = Greeter::new(clock.clone());
    let greet = |name| greeter.greet(name);
    assert_eq!(["ann", "ann"].map(greet), ["hello, ann", "hello, ann"]);
    assert_eq!(greet("ann"), "ann again? come back in 30s");
    assert_eq!(greet("bob"), "hello, bob");
    clock.advance(Span::seconds(30));
    assert_eq!(greet("ann"), "hello, ann");
    main();
}
