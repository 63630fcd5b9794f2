//! `ratescope simulate`: events from standard input through any policies.

#[path = "simulate/report.rs"]
mod report;

use clap::ValueEnum;
use ratescope::log::csv;
use ratescope::policy::Defaults;
use ratescope::{Event, ParseError, Policy, Retry, Store};
use report::{Decided, Report};
use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Write};
use std::num::NonZeroUsize;
use std::str::FromStr;

/// Put events from standard input to limiters, and print what each decides
///
/// The events are CSV with a header: time in seconds since any origin, with up to six decimals;
/// the cost of the event, which is 1 unless it is said; and any other columns that a limit may be
/// for. A limit without "per" is for the column key, or for all where there is none. For example:
///
///     time,key,ip,cost
///     0.5,alice,192.0.2.7,1
///     0.75,bob,192.0.2.7,2
///
///     ratescope simulate "exim 10/1m strict" "6/10s per key & 10/10s per ip"
///
/// There is one line for each event and limiter, in the order of the input, and a summary on
/// standard error. In csv and jsonl, times are in seconds, and retry_after is "never" where waiting
/// does not help. The level is what the limiter held against its limit. Of several limits, level
/// and limit are those of the one that decided: decided_by, and decided_key is whom it counted.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A limiter in quotes, such as "exim 10/1m strict", or several limits joined by "&", each for
    /// a key, as in "gcra 5/1s per user & gcra 9/1s per ip"; `ratescope limiters` lists them
    #[arg(required = true, value_name = "LIMITER")]
    limiters: Vec<Written>,

    /// How to print the decisions
    #[arg(long, value_enum, default_value_t = Format::Table)]
    format: Format,

    /// How many keys of a limit are remembered; beyond that, those used least recently are
    /// forgotten
    #[arg(long, value_name = "N", default_value = "1000000")]
    keys: NonZeroUsize,
}

#[derive(Clone, Copy, ValueEnum)]
enum Format {
    Table,
    Csv,
    Jsonl,
}

/// A policy as it was written. Which fields there are is known only when the input is read.
#[derive(Clone)]
struct Written(String);

impl FromStr for Written {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.parse::<Policy>() {
            Ok(_) => Ok(Written(text.trim().to_owned())),
            // The shell splits at spaces, and each word comes here as a limiter.
            Err(error) if !text.contains(' ') => {
                Err(format!("{error}; write a limiter of several words in quotes"))
            }
            Err(error) => Err(error.to_string()),
        }
    }
}

/// A policy at work.
struct Lane {
    text: String,
    store: Store,
    allowed: u64,
    refused: u64,
}

impl Lane {
    fn new(text: String, defaults: &Defaults, keys: usize) -> Result<Self, ParseError> {
        let store = Store::new(Policy::read(&text, defaults)?, keys);
        Ok(Lane { text, store, allowed: 0, refused: 0 })
    }

    fn check(&mut self, event: &Event<'_>) -> Decided<'_> {
        let verdict = self.store.check(event);
        let allowed = verdict.is_allowed();
        *(if allowed { &mut self.allowed } else { &mut self.refused }) += 1;
        let retry_after = match allowed {
            true => Retry::NOW,
            false => self.store.retry_after(event),
        };
        Decided { text: &self.text, policy: self.store.policy(), verdict, retry_after }
    }
}

/// Reads all events and prints every decision.
pub(crate) fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let rows = csv::read(io::stdin().lock())?;
    let fields = rows.fields().to_vec();
    let key = if fields.iter().any(|name| name == "key") { "key" } else { "all" };
    let defaults = Defaults { rate: None, per: key.parse()?, fields: Some(fields) };
    let lane = |Written(text)| Lane::new(text, &defaults, args.keys.get());
    let mut lanes = args.limiters.into_iter().map(lane).collect::<Result<Vec<_>, _>>()?;
    let texts: Vec<&str> = lanes.iter().map(|lane| lane.text.as_str()).collect();
    let out = io::BufWriter::new(io::stdout().lock());
    let report = Report::new(args.format, out, &texts);
    until_closed(simulate(rows, &mut lanes, report))
}

fn simulate(
    rows: csv::Rows<impl BufRead>,
    lanes: &mut [Lane],
    mut report: Report<impl Write>,
) -> io::Result<()> {
    report.begin()?;
    for row in rows {
        let row = match row {
            Ok(row) => row,
            Err(error) => {
                // What was decided before the mistake is still printed.
                report.end()?;
                return Err(io::Error::new(ErrorKind::InvalidData, error));
            }
        };
        let event = row.event();
        for lane in &mut *lanes {
            report.decision(&event, &lane.check(&event))?;
        }
    }
    report.end()?;
    summary(lanes, &mut io::stderr().lock())
}

fn summary(lanes: &[Lane], out: &mut impl Write) -> io::Result<()> {
    for Lane { text, store, allowed, refused } in lanes {
        let all = allowed + refused;
        if all == 0 {
            writeln!(out, "{text}: no events")?;
            continue;
        }
        let share = *allowed as f64 / all as f64 * 100.0;
        write!(out, "{text}: {allowed} of {all} allowed ({share:.1}%), {refused} refused")?;
        write!(out, ", keys: {}", store.len() as u64 + store.forgotten())?;
        match store.forgotten() {
            0 => writeln!(out)?,
            n => writeln!(out, " ({n} forgotten: more than --keys {})", store.capacity())?,
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
