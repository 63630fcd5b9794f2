//! The chapters of the guide.

#[doc = include_str!("guide/choosing.md")]
pub mod choosing {}

// The examples of these two chapters are doctests of ratescope-tower and ratescope-redis, which they need.
#[cfg_attr(not(doctest), doc = include_str!("guide/web.md"))]
pub mod web {}

#[cfg_attr(not(doctest), doc = include_str!("guide/redis.md"))]
pub mod redis {}

#[doc = include_str!("guide/machines.md")]
///
/// # In pictures
/// Two scenarios of Compare on the page, drawn by the same code. The filled line of a lane is the true level. Thin lines are
/// what the first processes believe, or what Redis has counted with all leases. Beside the events that passed is by how
/// much the limit was exceeded at most, and the number of calls to Redis. `ratescope simulate --processes` gives these numbers
/// for a log of yours.
///
/// **Two data centres,** 80 ms from Redis there and back, with one limit of 100 per 10 s, get 15 requests a second in turn:
///
#[doc = include_str!("guide/two-data-centres.svg")]
///
/// **A flood at forty processes:** a thousand requests a second for 9 s, where 400 per 10 s are allowed. Here nothing can
/// be lent, but what Redis has refused, a process refuses by itself:
///
#[doc = include_str!("guide/a-flood-at-forty-processes.svg")]
pub mod machines {}

#[doc = include_str!("guide/waiting.md")]
pub mod waiting {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/changing.md")]
pub mod changing {}

#[doc = include_str!("guide/store.md")]
pub mod store {}

#[doc = include_str!("guide/system.md")]
pub mod system {}

#[doc = include_str!("guide/governor.md")]
pub mod governor {}

#[doc = include_str!("guide/clients.md")]
pub mod clients {}
