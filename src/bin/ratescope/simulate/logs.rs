//! Several logs as one.

use crate::{source, words};
use ratescope::log::unpack;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

/// The text of logs, one after the other and unpacked; without any, that of standard input. Only one of them
/// is open at a time, since there may be more than a process may open.
pub(crate) struct Logs {
    ahead: IntoIter<PathBuf>,
    open: Option<(String, Box<dyn Read>)>,
}

impl Logs {
    /// # Errors
    /// When a file can't be read, so that it is not noticed only after the logs before it. The error has its
    /// name.
    pub(crate) fn new(mut paths: Vec<PathBuf>) -> io::Result<Self> {
        if paths.is_empty() {
            paths.push("-".into());
        }
        // A pipe must not be opened twice.
        for path in paths.iter().filter(|path| path.is_file() || path.is_dir()) {
            let read = File::open(path).and_then(|mut file| file.read(&mut [0]));
            read.map_err(|error| named(&words::name(path), &error))?;
        }
        Ok(Logs { ahead: paths.into_iter(), open: None })
    }
}

impl Read for Logs {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        loop {
            let Some((name, log)) = &mut self.open else {
                let Some(path) = self.ahead.next() else { return Ok(0) };
                let name = words::name(&path);
                let log = open(&path).map_err(|error| named(&name, &error))?;
                self.open = Some((name, log));
                continue;
            };
            let count = log.read(into).map_err(|error| named(name, &error))?;
            if count > 0 || into.is_empty() {
                return Ok(count);
            }
            self.open = None;
            // The last line of a log may lack its line end.
            if let Some(first) = into.first_mut().filter(|_| self.ahead.len() > 0) {
                *first = b'\n';
                return Ok(1);
            }
        }
    }
}

fn open(path: &Path) -> io::Result<Box<dyn Read>> {
    let (file, _) = source::open(path)?;
    Ok(unpack(file)?)
}

/// The error with the name of its log.
fn named(name: &str, error: &io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{name}: {error}"))
}
