//! Keeps [`Limiter`](super::Limiter) to the crates of this workspace.

macro_rules! seal {
    ({} $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        $(impl Sealed for super::$module::$limiter {})*
    };
}

limiters!(seal! {});
impl Sealed for super::any::AnyLimiter {}

/// Every limiter implements it.
pub trait Sealed {}
