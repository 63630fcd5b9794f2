//! `ratescope tune`: chooses a limit from a log.

#[path = "tune/answer.rs"]
mod answer;
#[path = "tune/json.rs"]
mod json;
#[path = "tune/progress.rs"]
mod progress;
#[path = "tune/read.rs"]
mod read;
#[path = "tune/server.rs"]
mod server;
#[path = "tune/svg.rs"]
mod svg;
#[path = "tune/swept.rs"]
mod swept;
#[path = "tune/table.rs"]
mod table;
#[path = "tune/threads.rs"]
mod threads;

use crate::simulate::until_closed;
use crate::source::Source;
use crate::words::{self, at_least_one};
use answer::Answer;
use ratescope::lab::tune::{Aim, PERIODS, Room};
use ratescope::policy::export::Target;
use ratescope::{ParseError, Policy, Span};
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::mem;
use std::path::{Path, PathBuf};
use swept::Swept;

/// Choose a limit from a log of your own traffic
///
/// For every limit, over several periods, it says to which clients that limit would ever have refused
/// a request, and proposes the smallest limit that leaves nearly all clients alone. The limit is
/// learned from the first two thirds of the log and checked on the rest.
///
///     ratescope tune access.log
///     ratescope tune access.log --period 5m --limit "exim 100/1h strict"
///     ratescope tune --summary a.tune access-a.log
///     ratescope tune --merge a.tune b.tune
///
/// A summary holds the key of every client and the times of its requests, a few bytes a request. So
/// merged summaries give the same answer as reading all logs at once, however these were split.
/// Protect a summary like the log itself.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The logs, in any order; - or no file at all is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// A period to look at, beside 1s, 10s, 1m, 10m and 1h; the curve is for the first one
    #[arg(long, value_name = "SPAN", value_parser = period)]
    period: Vec<Span>,

    /// Look only at the periods given
    #[arg(long, requires = "period")]
    only: bool,

    /// What is limited, in the curve and the recommendation: exim, earrrl, fixed-window,
    /// sliding-window, sliding-counter, sliding-log or haproxy, where N is the limit of the period; or
    /// bucket or nginx, where it is the burst at the rate that is tightest for the period
    #[arg(long, value_name = "BY", default_value = "exim")]
    by: Swept,

    /// Recommend a limit for this server, by its own arithmetic, and print its configuration: exim,
    /// nginx, haproxy, envoy, descriptors, caddy, traefik, cloudflare or rust
    #[arg(long = "for", value_name = "SERVER")]
    targets: Vec<Target>,

    /// A limit to replay exactly, such as "exim 10/1m strict" or "5/1s per user & 9/1s per ip"
    #[arg(long = "limit", value_name = "LIMITS", value_parser = written)]
    limits: Vec<String>,

    /// The percentage of clients to leave alone
    #[arg(long, value_name = "PERCENT", default_value_t = 99.9)]
    untouched: f64,

    /// A file with the keys of clients that should be left alone, one a line
    #[arg(long, value_name = "FILE")]
    marks: Option<PathBuf>,

    /// Print one JSON object
    #[arg(long)]
    json: bool,

    /// Draw the curve, the buckets and the hours, as the page does, into an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write a summary, for --merge
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// The files are summaries
    #[arg(long)]
    merge: bool,

    /// The most clients that are kept
    #[arg(long, value_name = "N", default_value_t = Room::default().clients, value_parser = at_least_one)]
    clients: usize,

    /// How much memory clients and events may take, in MiB
    #[arg(long, value_name = "MIB", default_value_t = Room::default().bytes >> 20, value_parser = at_least_one)]
    memory: usize,

    #[command(flatten)]
    source: Source,
}

/// A policy as it is written. Its fields can only be checked when a log is read.
fn written(text: &str) -> Result<String, ParseError> {
    text.parse::<Policy>().map(|_| text.trim().to_owned())
}

fn period(text: &str) -> Result<Span, ParseError> {
    let none = || ParseError::whole(text, "a period is longer than that; write it as in 1m");
    text.parse().and_then(|span: Span| (span > Span::ZERO).then_some(span).ok_or_else(none))
}

impl Args {
    fn room(&self) -> Room {
        Room { clients: self.clients, bytes: self.memory.saturating_mul(1 << 20) }
    }

    fn aim(&self) -> Result<Aim, String> {
        match (0.0..=100.0).contains(&self.untouched) {
            true => Ok(Aim { untouched: self.untouched / 100.0 }),
            false => Err("--untouched is a percentage, from 0 to 100".to_owned()),
        }
    }
}

/// Reads the logs, answers, and prints the answer.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let aim = args.aim()?;
    let marks = match &args.marks {
        Some(path) => fs::read_to_string(path).map_err(|error| named(path, &error))?.parse()?,
        None => Default::default(),
    };
    let read = if args.merge { read::summaries(args) } else { read::logs(args) };
    let read = read.map_err(|error| -> Box<dyn Error> { error })?;
    if read.summary.clients.is_empty() {
        return Err(nothing(&read).into());
    }
    // Finding the answer may have taken long, so a file that cannot be written is told after it.
    let kept = args.summary.as_ref().map_or(Ok(()), |path| {
        let mut file = io::BufWriter::new(fs::File::create(path).map_err(|e| named(path, &e))?);
        let written = read.summary.write(&mut file).and_then(|()| file.flush());
        written.map_err(|error| named(path, &error))
    });
    let what = (&*args.periods(), &args.by);
    let answer = Answer::new(&read, what, &aim, &marks, &args.targets)?;
    let drawn = args.svg.as_ref().map_or(Ok(()), |path| {
        let picture = svg::write(&answer).ok_or("--svg: there is no period to draw")?;
        fs::write(path, picture).map_err(|error| named(path, &error))
    });
    let mut out = io::BufWriter::new(io::stdout().lock());
    let printed = until_closed(match args.json {
        true => json::write(&answer, &mut out).and_then(|()| out.flush()),
        false => table::write(&answer, &mut out).and_then(|()| out.flush()),
    });
    // The process ends here, which frees what was read at once and not client by client.
    drop(answer);
    mem::forget(read);
    printed.and(kept.map_err(Into::into)).and(drawn.map_err(Into::into))
}

fn named(path: &Path, error: &dyn Error) -> String {
    format!("{}: {error}", path.display())
}

/// Why there is no answer.
fn nothing(read: &read::Read) -> String {
    let mut why = read.reading.options.filter.no_events(read.filtered);
    if read.summary.unread > 0 {
        let [unread, lines] = [read.summary.unread, read.summary.lines].map(words::grouped);
        why += &format!("; {unread} of {lines} lines could not be read");
    }
    for (i, problem) in read.problems.iter().enumerate() {
        why += &format!("{}\n  {problem}", if i == 0 { ":" } else { "" });
    }
    why
}

impl Args {
    /// The periods, the one of the curve first.
    fn periods(&self) -> Vec<Span> {
        let usual = PERIODS.into_iter().filter(|_| !self.only);
        let mut periods: Vec<Span> = Vec::new();
        for period in self.period.iter().copied().chain(usual) {
            if !periods.contains(&period) {
                periods.push(period);
            }
        }
        periods
    }
}
