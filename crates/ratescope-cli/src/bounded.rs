//! Reads files into memory, up to a bound, since a name may lead to a device.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

/// At most the first `most` bytes of a file, or of standard input for `-`.
pub(crate) fn beginning(path: &Path, most: usize) -> io::Result<Vec<u8>> {
    let file: Box<dyn Read> = if path.as_os_str() == "-" {
        Box::new(io::stdin().lock())
    } else {
        Box::new(File::open(path)?)
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

/// The longest file with a token or another secret, in bytes.
const LONGEST_SECRET: usize = 1 << 16;

/// The first line of a file with a secret.
pub(crate) fn first_line(path: &Path) -> Result<String, String> {
    let wrong = |error: &dyn core::fmt::Display| format!("{}: {error}", path.display());
    let text = text(path, LONGEST_SECRET).map_err(|error| wrong(&error))?;
    match text.lines().next().unwrap_or_default().trim() {
        "" => Err(wrong(&"its first line, which should be the secret, is empty")),
        line => Ok(line.to_owned()),
    }
}
