//! A file that grows, read as `tail -F` does: also after it was cut off, or another one took its name.
//!
//! Nothing waits here: each call looks once. A file that was cut off and has grown beyond its old length
//! between two looks can't be told from one that grew.

use same_file::Handle;
use std::fs;
use std::io::{self, ErrorKind, Read, Seek};
use std::path::{Path, PathBuf};

/// The bytes that are read at once.
const PIECE: usize = 1 << 16;

/// The result of one look at the file.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Look {
    /// More of the file.
    More,
    /// The file was cut off, or another one has its name; its beginning comes next.
    NextFile,
    /// Nothing new.
    Nothing,
}

/// The file at a path, and how far it was read.
pub(super) struct Tail {
    path: PathBuf,
    open: Option<Open>,
}

struct Open {
    file: Handle,
    at: u64,
    /// Whether a look before found its end, and another file under its name.
    is_left: bool,
}

impl Tail {
    /// A file from its beginning. It need not be there yet.
    pub(super) fn new(path: &Path) -> Self {
        Tail { path: path.to_owned(), open: None }
    }

    /// Replaces `piece` by what comes next.
    ///
    /// # Errors
    /// When the file can't be read, or is not a file.
    pub(super) fn look(&mut self, piece: &mut Vec<u8>) -> io::Result<Look> {
        piece.clear();
        let open = match &mut self.open {
            Some(open) => open,
            none => match open(&self.path)? {
                Some(file) => none.insert(Open { file, at: 0, is_left: false }),
                None => return Ok(Look::Nothing),
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
        match self::open(&self.path)? {
            Some(next) if next != open.file => {
                // A program may still have it open, and write to it for a moment.
                if !open.is_left {
                    open.is_left = true;
                    return Ok(Look::Nothing);
                }
                *open = Open { file: next, at: 0, is_left: false };
                Ok(Look::NextFile)
            }
            _ => Ok(Look::Nothing),
        }
    }
}

/// Opens a file, if it is there.
fn open(path: &Path) -> io::Result<Option<Handle>> {
    let file = fs::metadata(path).and_then(|metadata| match metadata.is_file() {
        true => Handle::from_path(path),
        false => Err(io::Error::other("it is no file; pipe it to standard input to follow it")),
    });
    match file {
        // It may also have been renamed meanwhile.
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        file => file.map(Some),
    }
}
