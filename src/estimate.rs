//! Estimators: how fast are events arriving?
//!
//! An estimator turns the events so far into a number of events per period, without deciding
//! anything; a limiter compares that number with a limit. The ones here relate as follows.
//!
//! | estimator | what it keeps | a burst of n from rest reads | forgets |
//! |---|---|---|---|
//! | [`exim`] | a rate and a time | n | by 1/e in a period |
//! | [`recent_average`] | a number and a time | n λ per second | by half in a half-life |
//! | [`smoothed`] | one more number beside Exim's | nearly nothing | by 1/e in the longer interval |
//! | [`exact`] | every event in the window | n | all at once, a period later |
//!
//! The first two are the same exponential memory. With λ = 1/period, N of the recent average
//! follows Exim's rate but adds a whole event for each event, where Exim adds the mean of the
//! decay over the gap, `(1 - e^-x)/x`. That mean is what makes a steady rate read exactly.

pub mod decay;
pub mod exact;
pub mod exim;
pub mod recent_average;
pub mod smoothed;
