//! What stands between a service and its limits.

#[cfg(all(feature = "watch", not(target_arch = "wasm32")))]
pub mod watch;
