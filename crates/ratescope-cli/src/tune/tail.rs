//! A file that grows, read as by `tail -F`: even after it was truncated, or another file took its name.
//!
//! Nothing waits here: each call looks once. A file that was truncated and grew beyond its old length between two looks
//! can't be told from one that only grew.

use same_file::Handle;
use std::fs;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

/// The bytes that are read at once.
const PIECE: usize = 1 << 16;

/// The result of one look at the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// `piece` has the next bytes of the file.
    More,
    /// The file was truncated, or another file has its name. The next look reads from the beginning.
    NextFile,
    /// There is nothing new, or no file yet.
    Nothing,
    /// The file can't be read, for this reason. The next look may succeed: a rotation may create the new file before
    /// the reader may read it.
    Unreadable(String),
}

/// The file at a path, and how far it was read.
pub(super) struct Tail {
    path: PathBuf,
    open: Option<Open>,
    /// An earlier look found no file.
    was_missing: bool,
}

struct Open {
    file: Handle,
    at: u64,
    /// An earlier look reached the end of this file, and found another file under its name.
    is_left: bool,
}

impl Tail {
    /// Follows the file at `path` from its beginning. The file need not exist yet.
    pub(super) fn new(path: &Path) -> Self {
        Tail { path: path.to_owned(), open: None, was_missing: false }
    }

    /// Looks once, and replaces `piece` by the next bytes, up to 64 KiB. `piece` is empty unless the result is
    /// [`Look::More`].
    ///
    /// # Errors
    /// When the file can't be read, or at the first look is not a file.
    pub(super) fn look(&mut self, piece: &mut Vec<u8>) -> io::Result<Look> {
        piece.clear();
        let open = match &mut self.open {
            Some(open) => open,
            none => match open(&self.path) {
                Ok(Some(file)) => none.insert(Open { file, at: 0, is_left: false }),
                Ok(None) => {
                    self.was_missing = true;
                    return Ok(Look::Nothing);
                }
                Err(error) if self.was_missing => return Ok(Look::Unreadable(error.to_string())),
                Err(error) => return Err(error),
            },
        };
        let file = open.file.as_file_mut();
        file.take(PIECE as u64).read_to_end(piece)?;
        if !piece.is_empty() {
            open.at += piece.len() as u64;
            return Ok(Look::More);
        }
        if file.metadata()?.len() < open.at {
            file.rewind()?;
            open.at = 0;
            return Ok(Look::NextFile);
        }
        match self::open(&self.path) {
            Ok(Some(next)) if next != open.file => {
                // A program may still write to the old file, so it is read once more.
                if !open.is_left {
                    open.is_left = true;
                    return Ok(Look::Nothing);
                }
                *open = Open { file: next, at: 0, is_left: false };
                Ok(Look::NextFile)
            }
            Ok(_) => Ok(Look::Nothing),
            Err(error) => Ok(Look::Unreadable(error.to_string())),
        }
    }
}

/// Opens a file; `None` if it is not there.
fn open(path: &Path) -> io::Result<Option<Handle>> {
    let file = fs::metadata(path).and_then(|metadata| {
        if metadata.is_file() {
            return Handle::from_path(path);
        }
        Err(io::Error::other("it is not a regular file; pipe it to standard input to follow it"))
    });
    match file {
        // The file may have been renamed between the two calls above.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}
