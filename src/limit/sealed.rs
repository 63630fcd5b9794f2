//! Keeps [`Limiter`](super::Limiter) to this crate.

macro_rules! seal {
    ({} $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        $(impl Sealed for super::$module::$limiter {})*
    };
}

limiters!(seal! {});
impl Sealed for super::any::AnyLimiter {}

/// What can be a limiter.
pub trait Sealed {}
