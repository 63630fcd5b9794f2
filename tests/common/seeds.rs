//! The seeds of the fuzzer, and its findings. The published crate has none of them, and no fuzzer.
#![allow(dead_code)] // Each test file uses its part.

use std::fs;
use std::path::{Path, PathBuf};

fn folder(target: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target)
}

/// Gives each input of a fuzz target, of which there are `least` at least.
#[track_caller]
pub(crate) fn each(target: &str, least: usize, mut hold: impl FnMut(&[u8])) {
    let Ok(files) = fs::read_dir(folder(target)) else { return };
    let mut files: Vec<_> = files.map(|file| file.unwrap().path()).collect();
    files.sort();
    assert!(files.len() >= least, "{target} has {} seeds", files.len());
    for path in files {
        // The name is printed if it fails.
        println!("{}", path.display());
        hold(&fs::read(path).unwrap());
    }
}

pub(crate) fn write(target: &str, name: &str, data: impl AsRef<[u8]>) {
    fs::create_dir_all(folder(target)).unwrap();
    fs::write(folder(target).join(name), data).unwrap();
}
