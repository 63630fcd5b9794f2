//! `ratescope check`: what the rules of a file mean.

use crate::rules;
use crate::terminal::{Visible, name, until_closed};
use ratescope_service::rule_files;
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;

/// Say in words what each rule of a file means, or what is wrong with it
///
/// For each rule it prints the name, the line where it begins, its events, and how much it lets through, at once and in
/// longer times. The exit status is 1 if there is any mistake.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Rule files, or folders of them; - is standard input
    #[arg(required = true, value_name = "RULES")]
    files: Vec<PathBuf>,

    /// Also refuse limits that Redis cannot compute exactly
    #[arg(long)]
    redis: bool,

    #[command(flatten)]
    forms: rules::FormArgs,
}

/// Prints every rule of every file.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let mut files = Vec::new();
    for named in &args.files {
        let within = rule_files(named).map_err(|error| format!("{}: {error}", name(named)))?;
        if within.is_empty() {
            return Err(format!("{}: no file ends with .yaml or .yml", name(named)).into());
        }
        files.extend(within);
    }
    for (i, path) in files.iter().enumerate() {
        let rules = rules::read(path)?;
        if args.redis {
            rules.exact_in_f64().map_err(rules::told)?;
        }
        args.forms.forms().check(&rules).map_err(rules::told)?;
        rules::note_networks(&rules);
        let end = if i == 0 { "" } else { "\n" };
        until_closed(write!(Visible(io::stdout().lock()), "{end}{rules}"))?;
    }
    Ok(())
}
