//! The chapters: how to do what is done most.

#[doc = include_str!("guide/choosing.md")]
pub mod choosing {}

#[doc = include_str!("guide/waiting.md")]
pub mod waiting {}

#[doc = include_str!("guide/testing.md")]
pub mod testing {}

#[doc = include_str!("guide/governor.md")]
pub mod governor {}
