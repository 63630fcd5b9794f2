//! What stands between a service and its limits: rule files that are watched, and a layer for
//! services of http.

#[cfg(all(feature = "tower", not(target_arch = "wasm32")))]
mod tower;
#[cfg(all(feature = "watch", not(target_arch = "wasm32")))]
pub mod watch;

#[cfg(all(feature = "tower", not(target_arch = "wasm32")))]
pub use tower::*;
