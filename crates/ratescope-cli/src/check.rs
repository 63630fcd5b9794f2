//! `ratescope check`: the meaning of the rules of a file.

use crate::terminal::{Visible, name, say, until_closed};
use crate::{memory, rules, run};
use ratescope::rules::{Rule, Rules, Throttle};
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

    /// Also say how much memory each limit takes for so many of its keys, as in 1M
    #[arg(long, value_name = "N", value_parser = users)]
    users: Option<u64>,

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
        for waits in run::waiting(&rules) {
            say(&format!("note: {waits}"));
        }
        note_load(&rules);
        let end = if i == 0 { "" } else { "\n" };
        let mut out = Visible(io::stdout().lock());
        until_closed(write!(out, "{end}{rules}"))?;
        if let Some(keys) = args.users {
            until_closed(write!(out, "\n{}", memory::of(&rules, keys)))?;
        }
    }
    Ok(())
}

/// A number of keys, as in `250000`, `250k` or `1M`.
fn users(text: &str) -> Result<u64, String> {
    let (digits, times) = match text.char_indices().last() {
        Some((end, 'k')) => (&text[..end], 1_000),
        Some((end, 'M')) => (&text[..end], 1_000_000),
        _ => (text, 1),
    };
    let number = digits.parse::<u64>().ok().and_then(|number| number.checked_mul(times));
    let number = number.filter(|number| (1..=1_000_000_000_000).contains(number));
    number.ok_or_else(|| "write a number of keys from 1 to 10^12, as in 250k or 1M".to_owned())
}

/// Prints the rules that depend on a load, which somebody has to tell.
fn note_load(rules: &Rules) {
    let is_elastic = |rule: &&Rule| matches!(rule.throttle(), Throttle::Elastic { .. });
    for rule in rules.rules().iter().filter(is_elastic) {
        say(&format!(
            "note: {}:{}: {}: ratescope run needs --load pressure, average, admin or field:NAME, which says where the \
             load comes from; a service of your own tells it by set_load",
            rules.file(),
            rule.line(),
            rule.throttle()
        ));
    }
}
