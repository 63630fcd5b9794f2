//! The file with the states, which outlive a restart.

use ratescope::files;
use ratescope_service::{Service, States};
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;
use tokio::time::sleep;

/// How often the states are saved, so that a process that is killed loses little.
const OFTEN: Duration = Duration::from_secs(60);

/// The states of a file. Without the file, or if it has something else, they are empty; the latter is logged, since limits
/// that start over are better than none.
pub(super) fn restored(path: &Path, keys: usize) -> Result<States, Box<dyn Error>> {
    let bytes = match fs::read(path) {
        Ok(bytes) => bytes,
        Err(error) if error.kind() == ErrorKind::NotFound => {
            // Better now than when the program ends.
            return match files::write(path, b"").and_then(|()| fs::remove_file(path)) {
                Ok(()) => Ok(States::in_memory(keys)),
                Err(error) => Err(format!("{}: {error}", path.display()).into()),
            };
        }
        Err(error) => return Err(format!("{}: {error}", path.display()).into()),
    };
    Ok(States::saved(keys, &bytes).unwrap_or_else(|error| {
        // It may be of a later version.
        let mut kept = path.as_os_str().to_owned();
        kept.push(".bad");
        let kept = PathBuf::from(kept);
        let kept = fs::rename(path, &kept).map(|()| format!("it is now {}", kept.display()));
        let kept = kept.unwrap_or_else(|error| error.to_string());
        let path = path.display();
        tracing::error!(target: "ratescope", "{path}: {error}; all limits start over, and {kept}");
        States::in_memory(keys)
    }))
}

/// The file in which the states are saved.
pub(super) struct StateFile {
    path: PathBuf,
    /// Held while they are saved: the last time, which has to win, may begin while an earlier one still writes.
    saving: Mutex<()>,
    /// Why they were not saved the last time.
    problem: Mutex<Option<String>>,
}

impl StateFile {
    pub(super) fn new(path: PathBuf) -> Self {
        StateFile { path, saving: Mutex::default(), problem: Mutex::default() }
    }

    pub(super) fn save(&self, service: &Service) {
        let _saving = self.saving.lock().unwrap_or_else(PoisonError::into_inner);
        let saved = files::write_with(&self.path, |mut file| service.save(&mut file));
        let problem = saved.err().map(|error| format!("{}: {error}", self.path.display()));
        if let Some(problem) = &problem {
            tracing::error!(target: "ratescope", "the states are not saved: {problem}");
        }
        *self.problem.lock().unwrap_or_else(PoisonError::into_inner) = problem;
    }

    /// Why the states were not saved the last time.
    pub(super) fn problem(&self) -> Option<String> {
        self.problem.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

/// Saves the states now and every [`OFTEN`], for ever.
pub(super) async fn keep(service: &Arc<Service>, file: Option<&Arc<StateFile>>) {
    loop {
        if let Some(file) = file.cloned() {
            let service = Arc::clone(service);
            _ = tokio::task::spawn_blocking(move || file.save(&service)).await;
        }
        sleep(OFTEN).await;
    }
}
