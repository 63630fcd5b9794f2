//! Choosing a limit from recorded traffic: the clients that every possible limit would have refused.
//!
//! ```
//! use ratescope_lab::tune::{Aim, Clients, Curve, Measure, Room, advise};
//! use ratescope::Time;
//!
//! // Nine clients with a request a minute, and one with fifty in a second.
//! let mut clients = Clients::new(Room::default());
//! for i in 0..600 {
//!     clients.add(&format!("visitor {}", i % 9), Time::try_from_secs_f64(f64::from(i) * 6.0)?, 1.0);
//! }
//! for i in 0..50 {
//!     clients.add("script", Time::try_from_secs_f64(3600.0 + f64::from(i) * 0.02)?, 1.0);
//! }
//! // One pass over the events of each client gives the answer for all limits.
//! let curve = Curve::of(&clients, Measure::SlidingLog("1m".parse()?), None);
//! assert_eq!(curve.touched(1.0), 10);
//! assert_eq!(curve.touched(5.0), 1);
//! assert_eq!(curve.touched(50.0), 0);
//! let advice = advise(&curve, &Aim::Untouched(0.9));
//! assert_eq!(advice.limiter.map(|limiter| limiter.to_string()), Some("sliding-log 2/1m".to_owned()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! # The first refusal does not depend on refusals
//! Most limiters count only the events that they allowed, so their level depends on their limit, and each limit seems
//! to need a run of its own. But one run is enough to find *which clients* each limit would ever have touched. Let the
//! events of a client come in order, let `s` be the state of a limiter with the limit m, and `u` the state of the same
//! limiter when every event is counted, allowed or not. Before the first event both are the initial state. As long as
//! nothing was refused, everything was counted in both, by the same function of state and event: so `s = u` up to and
//! including the moment of the first refused event. This event is over m in `s`, hence in `u`, and its level is the
//! same in both. So
//!
//! ```text
//! the limit m refuses the client something  <=>  some level in u is over m
//!                                           <=>  the highest level in u is over m
//! ```
//!
//! From right to left: take the first event whose level in `u` is over m. No earlier event was over m, so none was
//! refused, and this event meets the state u. The highest level is one number a client, and comparing it with each m
//! answers for every m. The argument needs m only in the comparison, not in the next state; so it holds for all
//! limiters in [`Measure`] while time does not run backwards. (It does not hold for the adaptive limit.)
//!
//! [`Measure`] defines "level" and "over" for each limiter. For a token bucket, GCRA or leaky bucket at the rate r, the
//! level is the backlog of events that have not drained, and its maximum is the smallest burst that leaves the client
//! alone. As a function of r this maximum is the client's *burstiness curve*. The smallest burst for nearly all
//! clients, at each of several rates, is the [`Frontier`]: the pairs of rate and burst that suffice.
//!
//! # How many requests are refused
//! Strict Exim and EARRRL count every event, so the level of *every* event does not depend on the limit, and one pass
//! counts the requests that each limit refuses. For the others, refusals after the first do depend on the limit;
//! [`Replay`] asks the limiter itself about the kept events, the busiest clients first, as far as time allows.
//!
//! # What is kept
//! [`Clients`] keeps the events of each client in a few bytes each, within a [`Room`] that the caller chooses. All
//! answers are computed from them, so that other periods, algorithms and limits need no second reading of a log, and
//! two summaries of one fleet give the same answer as one reading of all logs.
//!
//! # Exact on a scale
//! A [`Curve`] counts levels between the marks of a [`scale`] of three decimal digits. It is exact at the marks, and
//! every limit that people write is a mark.

mod advice;
mod answer;
mod frontier;
mod keep;
mod measure;
pub mod outliers;
mod read;
mod threads;

pub use advice::{Advice, Aim, Doubt, MISTAKES, advise};
pub use answer::*;
pub use frontier::{Burst, Frontier};
pub use keep::*;
pub use measure::*;
pub use read::*;
