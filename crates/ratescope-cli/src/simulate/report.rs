//! Printing decisions, in the three formats.

use super::Printed;
use super::lane::DecisionRow;
use crate::terminal::{column, harmless_json, visible};
use ratescope::{Event, Outcome, Retry, Span};
use ratescope_lab::csv::{self, Cell};
use ratescope_log::civil::Civil;
use std::io::{self, Write};

/// The fields of a decision, as csv and jsonl name them. Only decisions of rules have the last one.
const FIELDS: [&str; 12] = [
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
    "remark",
];

enum Value<'a> {
    Nothing,
    /// A number, or a boolean.
    Plain(String),
    Text(&'a str),
}

impl Value<'_> {
    fn number(number: Option<f64>) -> Self {
        number.map_or(Value::Nothing, |number| Value::Plain(number.to_string()))
    }

    fn csv(&self) -> Cell<'_> {
        match self {
            Value::Nothing => Cell::Plain(""),
            Value::Plain(text) => Cell::Plain(text),
            Value::Text(text) => Cell::Text(text),
        }
    }

    fn json(&self) -> String {
        match self {
            Value::Nothing => "null".to_owned(),
            Value::Plain(text) => text.clone(),
            Value::Text(text) => harmless_json(serde_json::Value::from(*text).to_string()),
        }
    }
}

impl DecisionRow<'_> {
    /// The values of the [`FIELDS`].
    fn values<'a>(&'a self, event: &Event<'_>, key: &'a str) -> [Value<'a>; FIELDS.len()] {
        let (wait, retry_after) = match (self.wait, self.retry_after) {
            (Some(wait), _) => (Some(wait.as_secs_f64()), Value::Nothing),
            (_, Retry::After(wait)) => (None, Value::number(Some(wait.as_secs_f64()))),
            (_, Retry::Never) => (None, Value::Text("never")),
        };
        let (by, by_key) = self.by.as_ref().map_or(("", ""), |(by, key)| (by, key));
        [
            Value::Plain(event.time.to_string()),
            Value::Text(key),
            Value::Plain(event.cost.to_string()),
            Value::Text(self.text),
            Value::Plain(self.wait.is_some().to_string()),
            Value::number(wait),
            retry_after,
            Value::number(self.outcome.map(|outcome| outcome.level)),
            Value::number(self.outcome.map(|outcome| outcome.limit)),
            Value::Text(by),
            Value::Text(by_key),
            Value::Text(&self.remark),
        ]
    }

    /// The decision in words. A refusal names the limit that decided, if it is one of several.
    fn words(&self) -> String {
        let decision = match (self.wait, self.retry_after) {
            (Some(wait), _) if wait.as_secs_f64() == 0.0 => "allowed".to_owned(),
            (Some(wait), _) => format!("allowed in {}", rounded(wait)),
            (_, Retry::After(wait)) => format!("refused, again in {}", rounded(wait)),
            (_, Retry::Never) => "refused, and would always be".to_owned(),
        };
        let decision = match (self.wait, &self.by) {
            (None, Some((by, key))) if self.is_chosen && key.is_empty() => {
                format!("{decision} ({by})")
            }
            (None, Some((by, key))) if self.is_chosen => {
                format!("{decision} ({by}: {key})")
            }
            _ => decision,
        };
        if self.remark.is_empty() { decision } else { format!("{decision} ({})", self.remark) }
    }
}

/// Prints decisions to `out`.
pub(crate) enum Printer<W: Write> {
    /// A key that is wider than the column of keys widens the column from there on.
    Table {
        out: W,
        widths: [usize; 3],
        dates: bool,
    },
    Csv {
        out: W,
        /// The last row; its memory is reused.
        row: String,
        fields: usize,
    },
    Jsonl {
        out: W,
        fields: usize,
    },
}

impl<W: Write> Printer<W> {
    /// A report in the given format, on limiters written as `texts`. With `remarks`, csv and jsonl have a field for the
    /// remarks of rules. With `dates`, the table shows times as dates, without it in seconds.
    pub(crate) fn new(format: Printed, out: W, texts: &[&str], remarks: bool, dates: bool) -> Self {
        let limiter = column(texts.iter().copied());
        let fields = FIELDS.len() - usize::from(!remarks);
        match format {
            Printed::Table => {
                let widths = if dates { [26, 15, limiter] } else { [12, 12, limiter] };
                Printer::Table { out, widths, dates }
            }
            Printed::Csv => Printer::Csv { out, row: String::new(), fields },
            Printed::Jsonl => Printer::Jsonl { out, fields },
        }
    }

    /// Prints the header, if the format has one.
    pub(crate) fn begin(&mut self) -> io::Result<()> {
        match self {
            Printer::Table { out, widths, .. } => {
                let cells = ["time", "key", "cost", "limiter", "level", "limit", "decision"];
                row(out, *widths, cells)
            }
            Printer::Csv { out, fields, .. } => {
                writeln!(out, "{}", FIELDS.get(..*fields).unwrap_or(&FIELDS).join(","))
            }
            Printer::Jsonl { .. } => Ok(()),
        }
    }

    pub(crate) fn decision(
        &mut self,
        event: &Event<'_>,
        key: &str,
        decided: &DecisionRow<'_>,
    ) -> io::Result<()> {
        match self {
            Printer::Table { out, widths, dates } => {
                let Event { time, cost, .. } = *event;
                let [level, limit] = [|o: Outcome| o.level, |o: Outcome| o.limit]
                    .map(|of| decided.outcome.map_or(String::new(), |outcome| short(of(outcome))));
                let time = if *dates { Civil(time).to_string() } else { time.to_string() };
                let key = visible(key);
                let cost = short(cost);
                let words = decided.words();
                let cells: [&str; 7] = [&time, &key, &cost, decided.text, &level, &limit, &words];
                widths[1] = widths[1].max(column([&*key].into_iter()));
                row(out, *widths, cells)
            }
            Printer::Csv { out, row, fields } => {
                let values = decided.values(event, key);
                row.clear();
                csv::row(row, values.iter().take(*fields).map(Value::csv));
                out.write_all(row.as_bytes())
            }
            Printer::Jsonl { out, fields } => {
                let values = decided.values(event, key);
                for (i, (name, value)) in FIELDS.iter().zip(&values).take(*fields).enumerate() {
                    let lead = if i == 0 { '{' } else { ',' };
                    write!(out, "{lead}\"{name}\":{}", value.json())?;
                }
                writeln!(out, "}}")
            }
        }
    }

    /// Flushes the output.
    pub(crate) fn end(&mut self) -> io::Result<()> {
        match self {
            Printer::Table { out, .. } | Printer::Csv { out, .. } | Printer::Jsonl { out, .. } => {
                out.flush()
            }
        }
    }
}

/// Prints a row. The widths are those of the time, the key and the limiter.
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
    match wait.as_secs_f64() {
        seconds if seconds < 60.0 => format!("{}s", short(seconds)),
        seconds => Span::try_from_secs_f64(seconds.ceil()).unwrap_or(wait).to_string(),
    }
}
