//! Texts that are compared with committed files. To accept a change: delete or empty the file, and run the test again.

use std::path::Path;
use std::{env, fs};

/// The text of a file of the crate that is tested. If it is missing or empty it is written with the text `now`, except in CI.
#[track_caller]
pub(crate) fn committed(name: &str, now: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    let is_empty = fs::metadata(&path).is_ok_and(|file| file.len() == 0);
    if (is_empty || !path.exists()) && env::var_os("CI").is_none() {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, now).unwrap();
    }
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}
