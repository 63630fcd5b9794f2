//! `ratescope sample`: a generated log to try things on.

use crate::terminal::until_closed;
use ratescope::Span;
use ratescope_lab::traffic::sample::{Sample, Style};
use std::error::Error;
use std::io::{self, Write};

/// Write a generated server log, to try things on
///
/// The log is of a small site: people who read more by day than by night, an office behind one address,
/// crawlers, a monitor, and an attacker who tries stolen passwords at night. The same seed
/// gives the same log everywhere. In Exim's log every request is a mail, in syslog a failed login.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The format: combined, json, exim, syslog or csv
    #[arg(long, value_name = "FORMAT", default_value_t = Style::Combined)]
    format: Style,

    /// The seed; another one gives another log
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = whole)]
    seed: u64,

    /// The number of lines, without the header of csv
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = whole)]
    lines: u64,

    /// About how much time it covers; with more lines in that time, the site is busier
    #[arg(long, value_name = "SPAN", default_value = "2d")]
    over: Span,
}

fn whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| format!("write a whole number from 0 to {}", u64::MAX))
}

/// The least bytes that are written at once.
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
