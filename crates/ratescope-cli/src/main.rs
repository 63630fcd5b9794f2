//! The command `ratescope`. Each subcommand is a file beside this one, with its arguments (`Args`, which are also its help)
//! and a function `run`:
//!
//! | file | what it does | made of |
//! |---|---|---|
//! | `run` | the rate limit service: gRPC, HTTP, and a port for operators | `ratescope-service`, `ratescope-live` |
//! | `keys`, `health` | the keys of a running service, and its health | its admin port, by `operator` |
//! | `serve` | the page, for browsers on this machine | the page within `ratescope-live`, or a folder |
//! | `simulate` | the events of a log against limits or rules, in memory or on Redis | `ratescope`, `ratescope-log` |
//! | `tune` | a limit from a log | `ratescope-lab` |
//! | `sample` | made-up logs | `ratescope-lab` |
//! | `script` | limits as Lua for Redis, for other languages | `ratescope-redis` |
//! | `check`, `explain`, `test` | rule files | `ratescope` |
//! | `guide` | the manual for operators | `docs/` |
//! | `limiters`, `completions`, `manual` | about the command itself | |
//!
//! `server` has the parts that all servers share: connections that are bounded in number, bytes and time, and their
//! end. `terminal` prints, foreign text only as visible characters, and shortened. `source` finds logs and their
//! options, `bounded` reads small files, and `store` the address of Redis.
//!
//! Errors are one line on standard error, and the exit status is 0, 1 or 2 as the help says. Strangers who reach a port
//! can't exhaust memory, nor keep the program from ending.

mod bounded;
mod check;
mod completions;
mod explain;
mod guide;
mod health;
mod keys;
mod limiters;
mod manual;
mod memory;
mod operator;
mod rules;
mod run;
mod sample;
mod script;
mod serve;
mod server;
mod simulate;
mod source;
mod store;
mod terminal;
mod test;
mod tune;

use clap::{CommandFactory, Parser};
use std::process::ExitCode;

/// An oscilloscope for rate limiters. To begin: `ratescope serve` shows the page, `ratescope tune access.log`
/// chooses a limit from your log
#[derive(Parser)]
#[command(
    name = "ratescope",
    version,
    after_help = "Exit status: 0 if all went well, 1 for an error or a failed check, 2 for wrong arguments."
)]
enum Command {
    Serve(serve::Args),
    Run(Box<run::Args>),
    Keys(keys::Args),
    Health(health::Args),
    Simulate(Box<simulate::Args>),
    Tune(Box<tune::Args>),
    Sample(sample::Args),
    Script(script::Args),
    Check(check::Args),
    Explain(explain::Args),
    Test(test::Args),
    Limiters(limiters::Args),
    Guide(guide::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Manual(manual::Args),
}

fn main() -> ExitCode {
    let args: Vec<_> = wild::args_os().collect();
    // Messages repeat arguments, which may be foreign names of files.
    let words: Vec<_> = args.iter().map(|arg| arg.to_string_lossy()).collect();
    let command = Command::try_parse_from(&args).unwrap_or_else(|error| {
        if !words.iter().all(|arg| terminal::is_plain(arg)) && error.use_stderr() {
            terminal::say(&terminal::with_short(error.to_string(), &words, terminal::ECHO));
            std::process::exit(error.exit_code());
        }
        error.exit()
    });
    let result = match command {
        Command::Serve(args) => serve::run(&args),
        Command::Run(args) => run::run(&args),
        Command::Keys(args) => keys::run(&args),
        Command::Health(args) => health::run(&args),
        Command::Simulate(args) => simulate::run(*args),
        Command::Tune(args) => tune::run(*args),
        Command::Sample(args) => sample::run(&args),
        Command::Script(args) => script::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Limiters(_) => limiters::run(),
        Command::Guide(args) => guide::run(&args),
        Command::Completions(args) => completions::run(&args, Command::command()),
        Command::Manual(args) => manual::run(&args, Command::command()),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) if error.is::<run::log::Logged>() => ExitCode::FAILURE,
        Err(error) => {
            let message = terminal::without_numbers(&format!("error: {error}"));
            terminal::say(&terminal::with_short(message, &words, terminal::LONGEST_PATH));
            ExitCode::FAILURE
        }
    }
}
