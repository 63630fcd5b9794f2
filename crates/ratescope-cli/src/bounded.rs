//! Reads files whole into memory, and no more of them than a bound: a name may lead to a device.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// At most the first `most` bytes of a file, or of standard input for `-`.
pub(crate) fn beginning(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let file: Box<dyn Read> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(File::open(path)?),
    };
    let mut bytes = Vec::new();
    file.take(most as u64).read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// A text of at most `most` bytes.
pub(crate) fn text(path: &Path, most: usize) -> io::Result<String> {
    let bytes = beginning(path, most.saturating_add(1))?;
    if bytes.len() > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    String::from_utf8(bytes).map_err(|_| io::Error::other("it is not UTF-8"))
}
