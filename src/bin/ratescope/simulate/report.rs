//! Printing decisions, in the three formats.

use super::Printed;
use super::lane::Decided;
use crate::terminal::{column, visible};
use ratescope::civil::Civil;
use ratescope::{Decision, Event, Retry, Span};
use std::io::{self, Write};

/// The fields of a decision, as csv and jsonl name them.
const FIELDS: [&str; 11] = [
    "time",
    "key",
    "cost",
    "limiter",
    "allowed",
    "wait",
    "retry_after",
    "level",
    "limit",
    "decided_by",
    "decided_key",
];

/// The name of one more field, for decisions of rules.
const REMARK: &str = "remark";

impl Decided<'_> {
    /// The seconds that an allowed event waits in the queue, and when a refused one would pass.
    fn waits(&self) -> (Option<f64>, Option<Retry>) {
        match self.decision {
            Decision::Allowed { wait } => (Some(wait.secs()), None),
            _ => (None, Some(self.retry_after)),
        }
    }

    /// The decision in words. A refusal names the limit that decided, if it is one of several.
    fn words(&self) -> String {
        let decision = match (self.decision, self.retry_after) {
            (Decision::Allowed { wait }, _) if wait.secs() == 0.0 => "allowed".to_owned(),
            (Decision::Allowed { wait }, _) => format!("allowed in {}", rounded(wait)),
            (_, Retry::After(wait)) => format!("refused, again in {}", rounded(wait)),
            (_, Retry::Never) => "refused, and would always be".to_owned(),
        };
        let decision = match (self.decision, &self.by) {
            (Decision::Refused, Some((by, key))) if self.is_chosen && key.is_empty() => {
                format!("{decision} ({by})")
            }
            (Decision::Refused, Some((by, key))) if self.is_chosen => {
                format!("{decision} ({by}: {key})")
            }
            _ => decision,
        };
        if self.remark.is_empty() { decision } else { format!("{decision} ({})", self.remark) }
    }
}

/// Prints decisions to `out`.
pub(crate) enum Printer<W: Write> {
    Table { out: W, limiter: usize, dates: bool },
    Csv { out: Box<csv::Writer<W>>, remarks: bool },
    Jsonl { out: W, remarks: bool },
}

impl<W: Write> Printer<W> {
    /// A report in the given format, on limiters written as `texts`. With `remarks`, csv and jsonl have a
    /// field for the remarks of rules. With `dates`, the table shows times as dates, otherwise in seconds.
    pub(crate) fn new(format: Printed, out: W, texts: &[&str], remarks: bool, dates: bool) -> Self {
        let limiter = column(texts.iter().copied());
        match format {
            Printed::Table => Printer::Table { out, limiter, dates },
            Printed::Csv => Printer::Csv { out: Box::new(csv::Writer::from_writer(out)), remarks },
            Printed::Jsonl => Printer::Jsonl { out, remarks },
        }
    }

    /// Prints the header, if the format has one.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        match self {
            Printer::Table { out, limiter, dates } => {
                let cells = ["time", "key", "cost", "limiter", "level", "limit", "decision"];
                row(out, widths(*limiter, *dates), cells)
            }
            Printer::Csv { out, remarks } => {
                let remark = remarks.then_some(REMARK);
                out.write_record(FIELDS.into_iter().chain(remark)).map_err(io_error)
            }
            Printer::Jsonl { .. } => Ok(()),
        }
    }

    /// Prints one decision.
    pub(crate) fn decision(
        &mut self,
        event: &Event<'_>,
        key: &str,
        decided: &Decided<'_>,
    ) -> io::Result<()> {
        let (time, cost) = (event.time, event.cost);
        let Decided { text, outcome, .. } = decided;
        let allowed = matches!(decided.decision, Decision::Allowed { .. });
        let (level, limit) = (outcome.map(|o| o.level), outcome.map(|o| o.limit));
        let (by, by_key) = decided.by.as_ref().map_or(("", ""), |(by, key)| (by, key));
        let (wait, retry) = decided.waits();
        match self {
            Printer::Table { out, limiter, dates } => {
                let [level, limit] = [level, limit].map(|n| n.map_or(String::new(), short));
                let time = if *dates { Civil(time).to_string() } else { time.to_string() };
                let (key, cost, words) = (visible(key), short(cost), decided.words());
                let cells: [&str; 7] = [&time, &key, &cost, text, &level, &limit, &words];
                row(out, widths(*limiter, *dates), cells)
            }
            Printer::Csv { out, remarks } => {
                let number = |n: Option<f64>| n.map_or(String::new(), |n| n.to_string());
                let retry = retry.map_or(String::new(), |retry| match retry {
                    Retry::After(wait) => wait.secs().to_string(),
                    Retry::Never => "never".to_owned(),
                });
                let fields = [
                    &time.to_string(),
                    key,
                    &cost.to_string(),
                    text,
                    &allowed.to_string(),
                    &number(wait),
                    &retry,
                    &number(level),
                    &number(limit),
                    by,
                    by_key,
                ];
                let remark = remarks.then_some(decided.remark.as_str());
                out.write_record(fields.into_iter().chain(remark)).map_err(io_error)
            }
            Printer::Jsonl { out, remarks } => {
                let number = |n: Option<f64>| n.map_or("null".to_owned(), |n| n.to_string());
                let retry = retry.map_or("null".to_owned(), |retry| match retry {
                    Retry::After(wait) => wait.secs().to_string(),
                    Retry::Never => "\"never\"".to_owned(),
                });
                let (wait, level, limit) = (number(wait), number(level), number(limit));
                let [key, text, by, by_key] = [key, text, by, by_key].map(json);
                let remark = match remarks {
                    true => format!(",\"{REMARK}\":{}", json(&decided.remark)),
                    false => String::new(),
                };
                writeln!(
                    out,
                    "{{\"time\":{time},\"key\":{key},\"cost\":{cost},\"limiter\":{text},\
                     \"allowed\":{allowed},\"wait\":{wait},\"retry_after\":{retry},\
                     \"level\":{level},\"limit\":{limit},\
                     \"decided_by\":{by},\"decided_key\":{by_key}{remark}}}"
                )
            }
        }
    }

    /// Flushes the output.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self {
            Printer::Table { out, .. } | Printer::Jsonl { out, .. } => out.flush(),
            Printer::Csv { out, .. } => out.flush(),
        }
    }
}

/// The widths of the time, the key and the limiter.
fn widths(limiter: usize, dates: bool) -> [usize; 3] {
    if dates { [26, 15, limiter] } else { [12, 12, limiter] }
}

fn row(out: &mut impl Write, widths: [usize; 3], cells: [&str; 7]) -> io::Result<()> {
    let [time, key, cost, limiter, level, limit, decision] = cells;
    let [times, keys, limiters] = widths;
    write!(out, "{time:>times$}  {key:<keys$}  {cost:>5}  {limiter:limiters$}  ")?;
    writeln!(out, "{level:>10}  {limit:>8}  {decision}")
}

/// A number for people: about six digits, and no zeros after the point at the end.
fn short(number: f64) -> String {
    let digits = 5 - number.abs().max(1.0).log10().floor() as i32;
    let text = format!("{number:.*}", digits.max(0) as usize);
    if text.contains('.') {
        text.trim_end_matches('0').trim_end_matches('.').to_owned()
    } else {
        text
    }
}

/// A span for people: below a minute the seconds with six digits, then whole seconds, rounded up.
fn rounded(wait: Span) -> String {
    match wait.secs() {
        seconds if seconds < 60.0 => format!("{}s", short(seconds)),
        seconds => Span::from_secs(seconds.ceil()).unwrap_or(wait).to_string(),
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
