//! `ratescope simulate`: events from standard input through any policies.

#[path = "simulate/lane.rs"]
mod lane;
#[path = "simulate/report.rs"]
mod report;

use crate::rules;
use clap::ValueEnum;
use lane::Lane;
use ratescope::Policy;
use ratescope::log::csv;
use ratescope::policy::Defaults;
use ratescope::rules::Rules;
use report::Report;
use std::error::Error;
use std::io::{self, BufRead, ErrorKind, Write};
use std::num::NonZeroUsize;
use std::path::PathBuf;
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
///
/// With --rules, the rules of a file decide, beside the limiters if there are any, and each decision
/// has a remark: "softly", and which shadows would refuse. The columns are the fields of the rules;
/// one called load, as in 42%, is the load of the service.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A limiter in quotes, such as "exim 10/1m strict", or several limits joined by "&", each for
    /// a key, as in "gcra 5/1s per user & gcra 9/1s per ip"; `ratescope limiters` lists them
    #[arg(required_unless_present = "rules", value_name = "LIMITER")]
    limiters: Vec<Written>,

    /// A rule file, as `ratescope check` explains it
    #[arg(long, value_name = "RULES")]
    rules: Vec<PathBuf>,

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

/// Reads all events and prints every decision.
pub(crate) fn run(args: Args) -> Result<(), Box<dyn Error>> {
    let read = |path: &PathBuf| rules::read(path);
    let files = args.rules.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    let rows = csv::read(io::stdin().lock())?;
    let fields = rows.fields().to_vec();
    let key = if fields.iter().any(|name| name == "key") { "key" } else { "all" };
    files.iter().for_each(|rules| warn_of_columns(rules, &fields));
    let defaults = Defaults { rate: None, per: key.parse()?, fields: Some(fields) };
    let keys = args.keys.get();
    let lane = |Written(text)| Lane::policy(text, &defaults, keys);
    let mut lanes = args.limiters.into_iter().map(lane).collect::<Result<Vec<_>, _>>()?;
    lanes.extend(files.into_iter().map(|rules| Lane::rules(rules, keys)));
    let texts: Vec<&str> = lanes.iter().map(|lane| lane.text.as_str()).collect();
    let out = io::BufWriter::new(io::stdout().lock());
    let remarks = lanes.iter().any(Lane::is_rules);
    let report = Report::new(args.format, out, &texts, remarks);
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
            report.decision(&event, &lane.check(&event)?)?;
        }
    }
    report.end()?;
    let mut out = io::stderr().lock();
    lanes.iter().try_for_each(|lane| lane.summary(&mut out))
}

/// Says which fields of the rules there are not, so that nobody wonders why a rule never applies.
fn warn_of_columns(rules: &Rules, columns: &[String]) {
    let mut missing: Vec<&str> = rules.fields();
    missing.retain(|field| !columns.iter().any(|column| column == field));
    if !missing.is_empty() {
        let (file, missing) = (rules.file(), missing.join(", "));
        eprintln!("note: {file} has rules for fields that are no columns here: {missing}");
    }
}

/// A reader that has seen enough, such as `head`, closes the pipe, and that is no error.
pub(crate) fn until_closed(result: io::Result<()>) -> Result<(), Box<dyn Error>> {
    match result {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
        other => Ok(other?),
    }
}
