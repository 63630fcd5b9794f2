//! Shows the progress of reading as a line on standard error, if that is a terminal.

use crate::source;
use indicatif::{ProgressBar, ProgressStyle};
use std::io::{self, Read};
use std::path::Path;

/// The lines for an input of known length and for any other.
const OF_A_FILE: &str =
    "{msg}: {decimal_bytes} of {decimal_total_bytes}, {decimal_bytes_per_sec}, {eta} left";
const OF_A_STREAM: &str = "{msg}: {decimal_bytes}, {decimal_bytes_per_sec}";

/// Opens the file at `path`, or standard input for `-`. Returns the input, which advances the progress bar as it is
/// read, and the bar.
pub(super) fn open(path: &Path) -> io::Result<(impl Read + Send, ProgressBar)> {
    let (input, length) = source::open(path)?;
    let template = if length.is_some() { OF_A_FILE } else { OF_A_STREAM };
    let style = ProgressStyle::with_template(template).map_err(io::Error::other)?;
    let bar = length.map_or_else(ProgressBar::no_length, ProgressBar::new);
    bar.set_style(style);
    bar.set_message(crate::terminal::name(path));
    Ok((bar.wrap_read(input), bar))
}
