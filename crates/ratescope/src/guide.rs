//! The chapters of the guide.

#[doc = include_str!("guide/choosing.md")]
pub mod choosing {}

// The examples of these two chapters are doctests of ratescope-tower and ratescope-redis, which they need.
#[cfg_attr(not(doctest), doc = include_str!("guide/web.md"))]
pub mod web {}

#[cfg_attr(not(doctest), doc = include_str!("guide/redis.md"))]
pub mod redis {}

#[doc = include_str!("guide/machines.md")]
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
