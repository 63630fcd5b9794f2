//! `ratescope script`: limits as Lua for Redis, for programs in other languages.

use crate::{rules, terminal::until_closed};
use ratescope::policy::{Defaults, Per};
use std::error::Error;
use std::io::{self, Write};

/// Print a script for Redis that decides by limits, for programs in other languages
///
/// The script needs nothing else, and any client of Redis can call it: its comment says what its keys, arguments and
/// answer are.
///
///     ratescope script 'earrrl 5/10s half-life 10s' > limit.lua
///     redis-cli EVAL "$(cat limit.lua)" 1 limit:{user=ann}
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// Up to four limits, as in 'gcra 10/1s burst 20 per user & 1000/1d per user'
    #[arg(value_name = "LIMITS")]
    limits: String,
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let defaults = Defaults { rate: None, per: Per::ALL, fields: None, cost: 0.0 };
    let policy = rules::policy(&args.limits, &defaults)?;
    let script = ratescope_redis::stand_alone(&policy)?;
    until_closed(write!(io::stdout().lock(), "{script}"))
}
