//! Estimators: how fast are events arriving?
//!
//! An estimator turns the events so far into a number of events per period. It decides nothing: a
//! [limiter](crate::limit) compares that number with a limit.
//!
//! | estimator | keeps | reads after a burst of n from rest | forgets |
//! |---|---|---|---|
//! | [`exim`] | a rate and a time | n | to 1/e in a period |
//! | [`recent_average`] | a number and a time | n λ per second | to half in a half-life |
//! | [`smoothed`] | one more number beside Exim's | nearly nothing | to 1/e in the longer interval |
//!
//! ```
//! use ratescope::estimate::exim::DecayingRate;
//! use ratescope::{Span, Time};
//!
//! let exim = DecayingRate { period: Span::from_mins(1) };
//! let first = exim.measure(None, Time::ZERO, 1.0);
//! let second = exim.measure(Some(first), Time::try_from_secs_f64(6.0)?, 1.0);
//! assert_eq!(first.rate, 1.0); // event a minute
//! assert!((second.rate - 1.856).abs() < 0.001);
//!
//! // A minute later without an event, 37 % are left.
//! let left = exim.rate_at(second, Time::try_from_secs_f64(66.0)?);
//! assert!((left / second.rate - 0.368).abs() < 0.001);
//! # Ok::<(), ratescope::BadNumber>(())
//! ```
//!
//! # How they relate
//! The first two are the same exponential memory. With λ = 1/period, N of the recent average
//! follows Exim's rate, except that each event adds 1 to N, and only `(1 - e^-x)/x`, the mean of the
//! decay over the gap x, to Exim's rate. Because of that mean Exim reads a steady rate exactly; N
//! reads about a half more.

pub mod decay;
pub mod exim;
pub mod recent_average;
pub mod smoothed;
