//! `ratescope limiters`: the text forms of the limiters.

use crate::terminal::until_closed;
use ratescope::limit::FORMS;
use std::error::Error;
use std::io::{self, Write};

/// List the text forms of the limiters
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Prints one line for each form.
pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    until_closed(list(&mut io::stdout().lock()))
}

fn list(out: &mut impl Write) -> io::Result<()> {
    let width = FORMS.iter().map(|form| form.example.len()).max().unwrap_or(0);
    for form in FORMS {
        writeln!(out, "{:width$}  {}", form.example, form.about)?;
    }
    let several = "gcra 10/1s & fixed-window 5000/1d";
    writeln!(out, "{several:width$}  all of several; an event counts in all of them or in none")
}
