//! Files that are a test's own.
#![allow(dead_code)] // Each test file uses its part.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

thread_local! {
    /// The files of a test, gone when it ends: each test has a thread of its own.
    static FILES: Folder = Folder::new("files");
}

/// The path of a file of this test with this text.
pub(crate) fn file(name: &str, text: impl AsRef<[u8]>) -> String {
    let path = FILES.with(|files| files.write(name, text));
    path.into_os_string().into_string().unwrap()
}

/// A folder of its own, gone when this is dropped.
pub(crate) struct Folder(pub(crate) PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        static MADE: AtomicU32 = AtomicU32::new(0);
        let number = MADE.fetch_add(1, Ordering::Relaxed);
        let name = format!("{name}-{}-{number}", std::process::id());
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        // A process of the same number may have left files.
        _ = fs::remove_dir_all(&folder);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    /// The path of a file with this text.
    pub(crate) fn write(&self, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(&path, text).unwrap();
        path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}
