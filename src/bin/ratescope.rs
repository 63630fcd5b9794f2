//! The command line, with one file for each command in `ratescope/`.

#[path = "ratescope/check.rs"]
mod check;
#[path = "ratescope/explain.rs"]
mod explain;
#[path = "ratescope/limiters.rs"]
mod limiters;
#[path = "ratescope/rules.rs"]
mod rules;
#[path = "ratescope/sample.rs"]
mod sample;
#[path = "ratescope/serve.rs"]
mod serve;
#[path = "ratescope/simulate.rs"]
mod simulate;
#[path = "ratescope/source.rs"]
mod source;
#[path = "ratescope/test.rs"]
mod test;
#[path = "ratescope/tune.rs"]
mod tune;
#[path = "ratescope/words.rs"]
mod words;

use clap::Parser;
use std::process::ExitCode;

/// An oscilloscope for rate limiters.
#[derive(Parser)]
#[command(version)]
enum Command {
    Serve(serve::Args),
    Simulate(Box<simulate::Args>),
    Tune(Box<tune::Args>),
    Sample(sample::Args),
    Check(check::Args),
    Explain(explain::Args),
    Test(test::Args),
    Limiters(limiters::Args),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Serve(args) => serve::run(&args),
        Command::Simulate(args) => simulate::run(*args),
        Command::Tune(args) => tune::run(&args),
        Command::Sample(args) => sample::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Test(args) => test::run(&args),
        Command::Limiters(_) => limiters::run(),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            words::say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
