//! The command line, with one file for each command beside this one. Built with the feature `serve`
//! alone, it has only that command, and builds in a third of the time.

mod bounded;
mod check;
mod completions;
mod explain;
mod limiters;
mod manual;
mod rules;
mod run;
mod sample;
mod serve;
mod server;
mod simulate;
mod source;
mod store;
mod terminal;
mod test;
mod tune;

use clap::CommandFactory;
use clap::Parser;
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
    #[command(flatten)]
    Tool(Tool),
}

/// The commands beside `serve` and `run`.
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
        Command::Run(args) => run::run(&args),
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
