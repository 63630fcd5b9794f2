//! `ratescope health`: whether a service runs, for containers without a shell.

use crate::operator;
use crate::terminal::{Visible, until_closed};
use std::error::Error;
use std::io::{self, Write};

/// Say how a running service does; the exit status is 1 if it does not answer
///
/// The service is `ratescope run`, which tells this on its admin port.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    admin: operator::AdminArgs,

    /// Exit with 1, too, unless the service is green: decides by the rules of all files, and counts in its store
    #[arg(long)]
    green: bool,

    /// Say also how each rule file, the store and the memory do, for which the admin port may want its token
    #[arg(long)]
    verbose: bool,
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let path = if args.verbose { "/healthz?verbose" } else { "/healthz" };
    let (status, text) = args.admin.ask("GET", path)?;
    if status != 200 || args.green && !text.starts_with("green") {
        return Err(format!("{}: {}", args.admin.at(), text.trim_end()).into());
    }
    until_closed(write!(Visible(io::stdout()), "{text}"))
}
