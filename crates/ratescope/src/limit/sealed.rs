//! Keeps [`Limiter`](super::Limiter) to this crate.

macro_rules! seal {
    ({} $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        $(impl Sealed for super::$module::$limiter {})*
    };
}

limiters!(seal! {});
impl Sealed for super::any::AnyLimiter {}

/// Every limiter of this crate implements it; no other crate can name it.
pub trait Sealed {}
