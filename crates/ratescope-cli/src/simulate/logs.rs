//! Several logs as one.

use crate::{source, terminal};
use ratescope_log::{Error, Log, Options, Record, unpack};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::vec::IntoIter;

/// Logs of one format, one after the other and unpacked; without any, standard input. Only one is open at a time, since
/// there may be more logs than file handles.
pub(crate) struct Logs {
    pub(crate) log: Log<Box<dyn Read>>,
    /// The name of the log that is open.
    name: String,
    ahead: IntoIter<PathBuf>,
}

impl Logs {
    /// Recognizes the format by the first log with a recognizable line.
    ///
    /// # Errors
    /// When no log has a known format, when the format does not fit the options, or when a file can't be read, which is
    /// checked before the first log is read. The error names the file.
    pub(crate) fn open(mut paths: Vec<PathBuf>, options: &Options) -> Result<Self, String> {
        if paths.is_empty() {
            paths.push("-".into());
        }
        // A pipe must not be opened twice.
        for path in paths.iter().filter(|path| path.is_file() || path.is_dir()) {
            let read = File::open(path).and_then(|mut file| file.read(&mut [0]));
            read.map_err(|error| format!("{}: {error}", terminal::name(path)))?;
        }
        // The first log that is not empty, and why it was not recognized.
        let mut first: Option<(usize, String)> = None;
        for (place, path) in paths.iter().enumerate() {
            let name = terminal::name(path);
            let is_last = place + 1 == paths.len();
            match open(path).and_then(|input| Log::open(input, options)) {
                Ok(log) => {
                    return Logs::begin(log, place, first.map(|first| first.0), paths, options);
                }
                Err(Error::Unknown(unknown)) if unknown.is_empty() && !is_last => {}
                Err(error @ Error::Unknown(_)) if path.is_file() && !is_last => {
                    first.get_or_insert((place, named(&name, error)));
                }
                Err(error) => return Err(first.map_or(named(&name, error), |first| first.1)),
            }
        }
        Err("there is no log".to_owned())
    }

    /// Begins with the log at `place`, which is open, or with an earlier log of the same format.
    fn begin(
        mut log: Log<Box<dyn Read>>,
        place: usize,
        earlier: Option<usize>,
        paths: Vec<PathBuf>,
        options: &Options,
    ) -> Result<Self, String> {
        let are_several = paths.len() > 1;
        let begin = earlier.unwrap_or(place);
        let mut ahead = paths.into_iter();
        let path = ahead.nth(begin).unwrap_or_default();
        let name = terminal::name(&path);
        if earlier.is_some() {
            let again =
                open(&path).and_then(|input| Log::with_shape(log.shape().clone(), input, options));
            log = again.map_err(|error| named(&name, error))?;
        }
        log.name(if are_several { &name } else { "" });
        Ok(Logs { log, name, ahead })
    }

    /// Reads the next piece, and passes its events to `on_event`; `false` at the end of the last log.
    ///
    /// # Errors
    /// As for [`Log::read`]. The error names the log.
    pub(crate) fn read(&mut self, on_event: &mut dyn FnMut(&Record<'_>)) -> Result<bool, String> {
        if self.log.read(on_event).map_err(|error| named(&self.name, error))? {
            return Ok(true);
        }
        let Some(path) = self.ahead.next() else { return Ok(false) };
        self.name = terminal::name(&path);
        let input = open(&path).map_err(|error| named(&self.name, error))?;
        self.log.next_file(input, &self.name);
        Ok(true)
    }
}

fn open(path: &Path) -> Result<Box<dyn Read>, Error> {
    let opened = source::open(path).and_then(|(file, _)| unpack(file));
    opened.map(|log| log as Box<dyn Read>).map_err(|error| Error::Input { line: 0, error })
}

/// The error with the name of its log, unless it names the log already or is about the options.
fn named(name: &str, error: Error) -> String {
    match error {
        Error::Unknown(_) | Error::Input { .. } => format!("{name}: {error}"),
        _ => error.to_string(),
    }
}
