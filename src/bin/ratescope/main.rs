//! The command line, with one file for each command beside this one. Built with the feature `serve`
//! alone, it has only that command, and builds in a third of the time.
#![cfg_attr(not(feature = "cli"), allow(dead_code))] // `rules` and `terminal` are for all commands.

mod bounded;
#[cfg(feature = "cli")]
mod check;
#[cfg(feature = "cli")]
mod completions;
#[cfg(feature = "cli")]
mod explain;
#[cfg(feature = "cli")]
mod limiters;
#[cfg(feature = "cli")]
mod manual;
mod rules;
#[cfg(feature = "run")]
mod run;
#[cfg(feature = "cli")]
mod sample;
mod serve;
mod server;
#[cfg(feature = "cli")]
mod simulate;
#[cfg(feature = "cli")]
mod source;
mod terminal;
#[cfg(feature = "cli")]
mod test;
#[cfg(feature = "cli")]
mod tune;

#[cfg(feature = "cli")]
use clap::CommandFactory;
use clap::Parser;
use std::process::ExitCode;

/// An oscilloscope for rate limiters. To begin: `ratescope serve` shows the page, `ratescope tune access.log`
/// chooses a limit from your log
#[derive(Parser)]
#[command(
    version,
    after_help = "Exit status: 0 if all went well, 1 for an error or a failed check, 2 for wrong arguments."
)]
enum Command {
    Serve(serve::Args),
    #[cfg(feature = "run")]
    Run(Box<run::Args>),
    #[cfg(feature = "cli")]
    #[command(flatten)]
    Tool(Tool),
}

/// The commands beside `serve` and `run`.
#[cfg(feature = "cli")]
#[derive(clap::Subcommand)]
enum Tool {
    Simulate(Box<simulate::Args>),
    Tune(Box<tune::Args>),
    Sample(sample::Args),
    Check(check::Args),
    Explain(explain::Args),
    Test(test::Args),
    Limiters(limiters::Args),
    Completions(completions::Args),
    #[command(hide = true)]
    Manual(manual::Args),
}

#[cfg(feature = "cli")]
impl Tool {
    fn run(self) -> Result<(), Box<dyn std::error::Error>> {
        match self {
            Tool::Simulate(args) => simulate::run(*args),
            Tool::Tune(args) => tune::run(&args),
            Tool::Sample(args) => sample::run(&args),
            Tool::Check(args) => check::run(&args),
            Tool::Explain(args) => explain::run(&args),
            Tool::Test(args) => test::run(&args),
            Tool::Limiters(_) => limiters::run(),
            Tool::Completions(args) => completions::run(&args, Command::command()),
            Tool::Manual(args) => manual::run(&args, Command::command()),
        }
    }
}

fn main() -> ExitCode {
    let args: Vec<_> = wild::args_os().collect();
    // Messages repeat arguments, which may be the names of foreign files.
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
        #[cfg(feature = "run")]
        Command::Run(args) => run::run(&args),
        #[cfg(feature = "cli")]
        Command::Tool(tool) => tool.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            let message = terminal::without_numbers(&format!("error: {error}"));
            terminal::say(&terminal::with_short(message, &words, terminal::LONGEST_PATH));
            ExitCode::FAILURE
        }
    }
}
