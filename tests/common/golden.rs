//! Pictures that a test holds.

#![allow(clippy::unwrap_used, unreachable_pub)]

use std::path::Path;

/// Compares with tests/plots/`name`. Where that is missing it is written, except in CI.
#[track_caller]
pub fn golden(name: &str, got: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/plots").join(name);
    if !path.exists() && std::env::var_os("CI").is_none() {
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(&path, got).unwrap();
    }
    let want = std::fs::read_to_string(&path).unwrap();
    assert!(got == want, "{name} is drawn otherwise; look, then delete it to accept:\n{got}");
}
