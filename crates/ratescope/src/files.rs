//! Small files that are written atomically, such as [saved states](crate::store::saved).
//!
//! ```
//! use ratescope::{MemoryStore, Policy, Time, files};
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let folder = std::env::temp_dir().join(format!("ratescope-files-{}", std::process::id()));
//! # std::fs::create_dir_all(&folder)?;
//! let (path, now) = (folder.join("states"), Time::from(std::time::SystemTime::now()));
//! let policy = || "fixed-window 1000/1d per user".parse::<Policy>();
//! let store = match files::read(&path, 1 << 30)? {
//!     Some(bytes) => MemoryStore::restore(policy()?, 100_000, &bytes)?,
//!     None => MemoryStore::new(policy()?, 100_000), // the first start
//! };
//! // At the end, or now and then:
//! files::write(&path, &store.save(now))?;
//! # assert!(files::read(&path, 1 << 30)?.is_some());
//! # std::fs::remove_dir_all(&folder)?;
//! # Ok(())
//! # }
//! ```

use core::hash::BuildHasher;
use std::fs::{self, File, OpenOptions};
use std::hash::RandomState;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

/// Writes a file atomically: writes and syncs a temporary file beside it, then renames that file to `path`. A
/// reader of `path` finds either the old bytes or the new ones, even if the process is killed or the power
/// fails in between. On Unix only the owner may read the file (mode 600). A process that is killed meanwhile leaves
/// the temporary file, as in `.states.0123456789abcdef`.
///
/// # Errors
/// When the file can't be written: the old file stays. When the folder can't be synced: the new file is in place, but
/// the rename may not survive a power failure.
pub fn write(path: impl AsRef<Path>, bytes: &[u8]) -> io::Result<()> {
    write_with(path, |file| file.write_all(bytes))
}

/// Writes a file as [`write()`] does, by a `fill` that need not have all bytes in memory.
///
/// # Errors
/// As for [`write()`], and those of `fill`.
pub fn write_with(
    path: impl AsRef<Path>,
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    let path = path.as_ref();
    let name = path.file_name().ok_or_else(|| {
        io::Error::new(io::ErrorKind::InvalidInput, format!("{} names no file", path.display()))
    })?;
    // Two writers at once use different temporary files; the last one to rename wins. A long name is cut, as no name may
    // be longer than 255 bytes.
    let chance = RandomState::new().hash_one(0);
    let beside = path.with_file_name(format!(".{:.50}.{chance:016x}", name.to_string_lossy()));
    let written = write_new(&beside, fill).and_then(|()| fs::rename(&beside, path));
    if let Err(error) = written {
        // The error is ignored, since the temporary file may not even have been created.
        let _ = fs::remove_file(&beside);
        return Err(error);
    }
    // The rename is on the disk once the folder is synced. Only Unix can open a folder.
    #[cfg(unix)]
    if let Some(folder) = path.parent() {
        let here = folder.as_os_str().is_empty();
        File::open(if here { Path::new(".") } else { folder })?.sync_all()?;
    }
    Ok(())
}

fn write_new(path: &Path, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut file = BufWriter::new(options.open(path)?);
    fill(&mut file)?;
    file.into_inner()?.sync_all()
}

/// Reads a file of at most `most` bytes; returns `None` if there is no file.
///
/// # Errors
/// When the file is longer, or can't be read.
pub fn read(path: impl AsRef<Path>, most: u64) -> io::Result<Option<Vec<u8>>> {
    let path = path.as_ref();
    let file = match File::open(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        file => file?,
    };
    let mut bytes = Vec::new();
    file.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let problem = format!("{} has more than {most} bytes", path.display());
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(Some(bytes))
}
