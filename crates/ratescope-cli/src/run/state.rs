//! The file with the states, which outlive a restart.

use ratescope::files;
use ratescope_service::{Service, States};
use std::error::Error;
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;
use tokio::time::sleep;

/// How often the states are saved, so that a process that is killed loses little.
const OFTEN: Duration = Duration::from_secs(60);

/// The states of a file. Without the file, or if it has something else, they are empty; the latter is logged, since limits
/// that begin anew are better than none.
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
        tracing::error!(target: "ratescope", "{path}: {error}; all limits begin anew, and {kept}");
        States::in_memory(keys)
    }))
}

/// Saves the states.
pub(super) fn save(service: &Service, path: &Path) {
    if let Err(error) = files::write_with(path, |mut file| service.save(&mut file)) {
        let path = path.display();
        tracing::error!(target: "ratescope", "{path}: the states are not saved: {error}");
    }
}

/// Saves the states every [`OFTEN`], for ever.
pub(super) async fn keep(service: &Arc<Service>, path: Option<&PathBuf>) {
    loop {
        sleep(OFTEN).await;
        if let Some(path) = path.cloned() {
            let service = Arc::clone(service);
            _ = tokio::task::spawn_blocking(move || save(&service, &path)).await;
        }
    }
}
