//! A page of Ratescope, one of `ratescope::web`, as a module for the browser. Which of them, a
//! feature says.
#![cfg(target_arch = "wasm32")]

pub use ratescope::web::*;

/// Less code than the default one: 2.8 kB less to load.
#[global_allocator]
static ALLOCATOR: talc::wasm::WasmDynamicTalc = talc::wasm::new_wasm_dynamic_allocator();
