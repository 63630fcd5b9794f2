//! `ratescope manual`: the manual pages, for those who package this program.

use std::error::Error;
use std::path::PathBuf;

/// Write the manual pages into a folder
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The folder, which is there already
    dir: PathBuf,
}

/// Writes a page for the program and one for each command.
pub(crate) fn run(args: &Args, command: clap::Command) -> Result<(), Box<dyn Error>> {
    let written = clap_mangen::generate_to(command, &args.dir);
    Ok(written.map_err(|error| format!("{}: {error}", args.dir.display()))?)
}
