//! `ratescope completions`: scripts by which a shell completes this command.

use crate::terminal::until_closed;
use clap_complete::Shell;
use std::error::Error;
use std::io::{self, Write};

/// Print the completions for a shell, as in `source <(ratescope completions bash)`
#[derive(clap::Args)]
pub(crate) struct Args {
    shell: Shell,
}

/// Prints the shell's script for the command.
pub(crate) fn run(args: &Args, mut command: clap::Command) -> Result<(), Box<dyn Error>> {
    // Not written to the output directly: generating would panic if the output is closed.
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut command, "ratescope", &mut script);
    until_closed(io::stdout().write_all(&script))
}
