//! `ratescope sample`: a made-up log to try things on.

use crate::simulate::until_closed;
use ratescope::Span;
use ratescope::traffic::sample::{Sample, Style};
use std::error::Error;
use std::io::{self, Write};

/// Write a made-up server log, to try things on
///
/// Days of a small site: people who read more by day than by night, an office behind one address,
/// crawlers, a monitor, and somebody who tries stolen passwords at night. The same seed gives the
/// same log everywhere. As Exim's log every request is a mail, and as syslog a failed login.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// How it is written: combined, json, exim, syslog or csv
    #[arg(long, value_name = "FORMAT", default_value_t = Style::Combined)]
    format: Style,

    /// Another seed gives another log
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    /// How many lines it has, without the header of csv
    #[arg(long, value_name = "N", default_value_t = 100_000)]
    lines: u64,

    /// How much time it covers, about; with more lines in it, the site is busier
    #[arg(long, value_name = "SPAN", default_value = "2d")]
    over: Span,
}

/// How much text is written at once.
const PIECE: usize = 1 << 16;

/// Writes the log to standard output.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let sample = Sample::new(args.seed, args.lines, args.over)?;
    until_closed(write(sample, args.format, &mut io::stdout().lock()))
}

fn write(sample: Sample, style: Style, out: &mut impl Write) -> io::Result<()> {
    let mut text = String::from(style.header());
    for entry in sample {
        style.write(&entry, &mut text);
        if text.len() >= PIECE {
            out.write_all(text.as_bytes())?;
            text.clear();
        }
    }
    out.write_all(text.as_bytes())
}
