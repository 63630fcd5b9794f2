//! Printing decisions, in the three formats.

use super::Format;
use super::events::Event;
use ratescope::{Decision, Outcome, Retry, Span};
use std::io::{self, Write};

/// The fields of a decision, as csv and jsonl name them.
const FIELDS: [&str; 9] =
    ["time", "key", "cost", "limiter", "allowed", "wait", "retry_after", "level", "limit"];

/// Prints decisions to `out`.
pub(crate) enum Report<W: Write> {
    Table { out: W, limiter: usize },
    Csv(Box<csv::Writer<W>>),
    Jsonl(W),
}

impl<W: Write> Report<W> {
    /// A report in the given format, on limiters written as `texts`.
    pub(crate) fn new(format: Format, out: W, texts: &[&str]) -> Self {
        let limiter = texts.iter().map(|text| text.len()).max().unwrap_or(0);
        match format {
            Format::Table => Report::Table { out, limiter },
            Format::Csv => Report::Csv(Box::new(csv::Writer::from_writer(out))),
            Format::Jsonl => Report::Jsonl(out),
        }
    }

    /// What comes before the first decision.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        match self {
            Report::Table { out, limiter } => {
                row(out, *limiter, ["time", "key", "cost", "limiter", "level", "limit", "decision"])
            }
            Report::Csv(out) => out.write_record(FIELDS).map_err(io_error),
            Report::Jsonl(_) => Ok(()),
        }
    }

    /// One line.
    pub(crate) fn decision(
        &mut self,
        event: &Event,
        limiter: &str,
        outcome: Outcome,
    ) -> io::Result<()> {
        let Event { at, key, cost } = event;
        let Outcome { level, limit, .. } = outcome;
        match self {
            Report::Table { out, limiter: width } => {
                let (cost, level, limit) = (short(*cost), short(level), short(limit));
                let decision = decision(outcome);
                row(out, *width, [&at.to_string(), key, &cost, limiter, &level, &limit, &decision])
            }
            Report::Csv(out) => {
                let (wait, retry) = waits(outcome);
                let wait = wait.map_or(String::new(), |wait| wait.to_string());
                let retry = retry.map_or(String::new(), |retry| match retry {
                    Retry::After(wait) => wait.secs().to_string(),
                    Retry::Never => "never".to_owned(),
                });
                let fields = [
                    &at.to_string(),
                    key.as_str(),
                    &cost.to_string(),
                    limiter,
                    &outcome.is_allowed().to_string(),
                    &wait,
                    &retry,
                    &level.to_string(),
                    &limit.to_string(),
                ];
                out.write_record(fields).map_err(io_error)
            }
            Report::Jsonl(out) => {
                let (wait, retry) = waits(outcome);
                let wait = wait.map_or("null".to_owned(), |wait| wait.to_string());
                let retry = retry.map_or("null".to_owned(), |retry| match retry {
                    Retry::After(wait) => wait.secs().to_string(),
                    Retry::Never => "\"never\"".to_owned(),
                });
                let (key, limiter) = (json(key), json(limiter));
                let allowed = outcome.is_allowed();
                writeln!(
                    out,
                    "{{\"time\":{at},\"key\":{key},\"cost\":{cost},\"limiter\":{limiter},\
                     \"allowed\":{allowed},\"wait\":{wait},\"retry_after\":{retry},\
                     \"level\":{level},\"limit\":{limit}}}"
                )
            }
        }
    }

    /// Hands on what is still held back.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self {
            Report::Table { out, .. } | Report::Jsonl(out) => out.flush(),
            Report::Csv(out) => out.flush(),
        }
    }
}

/// The seconds in the queue of an allowed event, and the time to come back of a refused one.
fn waits(outcome: Outcome) -> (Option<f64>, Option<Retry>) {
    match outcome.decision {
        Decision::Allowed { wait } => (Some(wait.secs()), None),
        Decision::Denied { retry_after } => (None, Some(retry_after)),
    }
}

fn row(out: &mut impl Write, width: usize, cells: [&str; 7]) -> io::Result<()> {
    let [time, key, cost, limiter, level, limit, decision] = cells;
    write!(out, "{time:>12}  {key:<12}  {cost:>5}  {limiter:width$}  ")?;
    writeln!(out, "{level:>10}  {limit:>8}  {decision}")
}

/// A number to read: six digits, and no zeros at the end.
fn short(number: f64) -> String {
    let digits = 5 - number.abs().max(1.0).log10().floor() as i32;
    let text = format!("{number:.*}", digits.max(0) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

fn decision(outcome: Outcome) -> String {
    match outcome.decision {
        Decision::Allowed { wait } if wait.secs() == 0.0 => "allowed".to_owned(),
        Decision::Allowed { wait } => format!("allowed in {}", rounded(wait)),
        Decision::Denied { retry_after: Retry::After(wait) } => {
            format!("refused, again in {}", rounded(wait))
        }
        Decision::Denied { retry_after: Retry::Never } => "refused, and would always be".to_owned(),
    }
}

/// A span to read: six digits of the seconds, and from a minute on whole ones, rounded up.
fn rounded(wait: Span) -> String {
    match wait.secs() {
        seconds if seconds < 60.0 => format!("{}s", short(seconds)),
        seconds => Span::seconds(seconds.ceil() as u32).to_string(),
    }
}

/// The error of the output itself, which the `csv` crate wraps.
fn io_error(error: csv::Error) -> io::Error {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error,
        other => io::Error::other(format!("{other:?}")),
    }
}

/// A text as a JSON string.
fn json(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
