//! The command line: one file a command, in `ratescope/`.

#[path = "ratescope/serve.rs"]
mod serve;

use clap::Parser;
use std::process::ExitCode;

/// An oscilloscope for rate limiters.
#[derive(Parser)]
#[command(version)]
enum Command {
    Serve(serve::Args),
}

fn main() -> ExitCode {
    let result = match Command::parse() {
        Command::Serve(args) => serve::run(&args),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}
