//! The command line, with one file for each command in `ratescope/`. Built with the feature `serve`
//! alone, it has just that command, which takes a third of the time to build.
#![cfg_attr(not(feature = "cli"), allow(dead_code))] // `rules` and `words` serve all commands.

#[cfg(feature = "cli")]
#[path = "ratescope/check.rs"]
mod check;
#[cfg(feature = "cli")]
#[path = "ratescope/completions.rs"]
mod completions;
#[cfg(feature = "cli")]
#[path = "ratescope/explain.rs"]
mod explain;
#[cfg(feature = "cli")]
#[path = "ratescope/limiters.rs"]
mod limiters;
#[cfg(feature = "cli")]
#[path = "ratescope/manual.rs"]
mod manual;
#[path = "ratescope/rules.rs"]
mod rules;
#[cfg(feature = "run")]
#[path = "ratescope/run.rs"]
mod run;
#[cfg(feature = "cli")]
#[path = "ratescope/sample.rs"]
mod sample;
#[path = "ratescope/serve.rs"]
mod serve;
#[path = "ratescope/server.rs"]
mod server;
#[cfg(feature = "cli")]
#[path = "ratescope/simulate.rs"]
mod simulate;
#[cfg(feature = "cli")]
#[path = "ratescope/source.rs"]
mod source;
#[cfg(feature = "cli")]
#[path = "ratescope/test.rs"]
mod test;
#[cfg(feature = "cli")]
#[path = "ratescope/tune.rs"]
mod tune;
#[path = "ratescope/words.rs"]
mod words;

#[cfg(feature = "cli")]
use clap::CommandFactory;
use clap::Parser;
use std::process::ExitCode;

/// An oscilloscope for rate limiters.
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

/// The commands beside `serve`.
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
    let result = match Command::parse() {
        Command::Serve(args) => serve::run(&args),
        #[cfg(feature = "run")]
        Command::Run(args) => run::run(&args),
        #[cfg(feature = "cli")]
        Command::Tool(tool) => tool.run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            words::say(&words::without_numbers(&format!("error: {error}")));
            ExitCode::FAILURE
        }
    }
}
