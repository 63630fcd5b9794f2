//! Calls to somebody else's service: four threads make twenty a second together, and a call that would be late by more
//! than two seconds is not made.
//!
//! `cargo run -p ratescope --example waiting`

use ratescope::limit::gcra::Gcra;
use ratescope::waiting::{NotAllowed, Waiting};
use ratescope::{DirectRateLimiter, RateLimiter};
use std::thread;
use std::time::Duration;

/// Calls eight times; returns how many calls were made.
fn call(limiter: &DirectRateLimiter<Gcra>, name: &str) -> Result<usize, NotAllowed> {
    let waiting = Waiting::DEFAULT.at_most(Duration::from_secs(2));
    for i in 0..8 {
        match limiter.block_until_ready_with(waiting) {
            Ok(()) => println!("{name}: call {i}"),
            Err(NotAllowed::Refused { after: wait }) => {
                println!("{name} gave up: the next turn is in {wait:?}");
                return Ok(i);
            }
            Err(reason) => return Err(reason),
        }
    }
    Ok(8)
}

fn main() -> Result<(), NotAllowed> {
    let limiter = RateLimiter::direct(Gcra::per_second(20).with_burst(4));
    thread::scope(|scope| {
        let callers = ["ann", "bob", "eve", "dan"].map(|name| {
            let limiter = &limiter;
            scope.spawn(move || call(limiter, name))
        });
        callers.into_iter().try_for_each(|caller| match caller.join() {
            Ok(made) => made.map(|_| ()),
            Err(panic) => std::panic::resume_unwind(panic),
        })
    })
}

#[test]
fn all_calls_are_made() {
    let limiter = RateLimiter::direct(Gcra::per_second(20).with_burst(4));
    assert_eq!(call(&limiter, "ann"), Ok(8));
}
