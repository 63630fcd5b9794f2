//! `ratescope simulate`: events from standard input through any limiters.

#[path = "simulate/events.rs"]
mod events;
#[path = "simulate/report.rs"]
mod report;

use clap::ValueEnum;
use ratescope::keyed::Keyed;
use ratescope::limit::any::AnyLimiter;
use ratescope::{Outcome, ParseError};
use report::Report;
use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Write};
use std::num::NonZeroUsize;
use std::str::FromStr;

/// Put events from standard input to limiters, and print what each decides
///
/// The events are CSV with a header: time in seconds since any origin, with up to six decimals,
/// and, if there are several, the key that is limited and the cost of the event, which is 1 unless
/// it is said. For example:
///
///     time,key,cost
///     0.5,alice,1
///     0.75,bob,2
///
/// There is one line for each event and limiter, in the order of the input, and a summary on
/// standard error. In csv and jsonl, times are in seconds, and retry_after is "never" where waiting
/// does not help. The level is what the limiter held against its limit.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A limiter in quotes, such as "exim 10/1m strict"; `ratescope limiters` lists them
    #[arg(required = true, value_name = "LIMITER")]
    limiters: Vec<Named>,

    /// How to print the decisions
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// How many keys are remembered; beyond that, the least recently used is forgotten
    #[arg(long, value_name = "N", default_value = "1000000")]
    keys: NonZeroUsize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Csv,
    Jsonl,
}

/// A limiter and how it was written.
#[derive(Clone)]
struct Named {
    text: String,
    limiter: AnyLimiter,
}

impl FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let limiter = text.parse().map_err(|error: ParseError| match text.contains(' ') {
            true => error.to_string(),
            // The shell splits at spaces, and each word comes here as a limiter.
            false => format!("{error}; write a limiter of several words in quotes"),
        })?;
        Ok(Named { text: text.trim().to_owned(), limiter })
    }
}

/// A limiter at work.
struct Lane {
    text: String,
    keyed: Keyed<String, AnyLimiter>,
    allowed: u64,
    refused: u64,
}

impl Lane {
    fn check(&mut self, event: &events::Event) -> Outcome {
        let outcome = self.keyed.check(event.key.as_str(), event.at, event.cost);
        *(if outcome.is_allowed() { &mut self.allowed } else { &mut self.refused }) += 1;
        outcome
    }
}

/// Reads all events and prints every decision.
pub(crate) fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let lane = |named: Named| Lane {
        text: named.text,
        keyed: Keyed::new(named.limiter, args.keys.get()),
        allowed: 0,
        refused: 0,
    };
    let mut lanes: Vec<Lane> = args.limiters.into_iter().map(lane).collect();
    let out = io::BufWriter::new(io::stdout().lock());
    let texts: Vec<&str> = lanes.iter().map(|lane| lane.text.as_str()).collect();
    let report = Report::new(args.format, out, &texts);
    until_closed(simulate(io::stdin().lock(), &mut lanes, report))
}

fn simulate(
    input: impl BufRead,
    lanes: &mut [Lane],
    mut report: Report<impl Write>,
) -> io::Result<()> {
    let events = events::read(input)?;
    report.begin()?;
    for event in events {
        let event = match event {
            Ok(event) => event,
            Err(error) => {
                // What was decided before the mistake is still printed.
                report.end()?;
                return Err(error);
            }
        };
        for lane in &mut *lanes {
            let outcome = lane.check(&event);
            report.decision(&event, &lane.text, outcome)?;
        }
    }
    report.end()?;
    summary(lanes, &mut io::stderr().lock())
}

fn summary(lanes: &[Lane], out: &mut impl Write) -> io::Result<()> {
    for Lane { text, keyed, allowed, refused } in lanes {
        let all = allowed + refused;
        if all == 0 {
            writeln!(out, "{text}: no events")?;
            continue;
        }
        let share = *allowed as f64 / all as f64 * 100.0;
        write!(out, "{text}: {allowed} of {all} allowed ({share:.1}%), {refused} refused")?;
        write!(out, ", keys: {}", keyed.len() as u64 + keyed.forgotten())?;
        match keyed.forgotten() {
            0 => writeln!(out)?,
            n => writeln!(out, " ({n} forgotten: more than --keys {})", keyed.capacity())?,
        }
    }
    Ok(())
}

/// A reader that has seen enough, such as `head`, closes the pipe, and that is no error.
pub(crate) fn until_closed(result: io::Result<()>) -> Result<(), Box<dyn Error>> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
