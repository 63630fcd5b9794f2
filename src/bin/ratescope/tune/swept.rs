//! What is limited in the curve, by name.

use ratescope::lab::tune::{Choices, Frontier, Measure, Metric};
use ratescope::policy::export::Target;
use ratescope::{ParseError, Span};
use std::str::FromStr;

/// A measure of a period, `bucket`, or a server whose own arithmetic is known.
#[derive(Clone)]
pub(crate) struct Swept(Choices);

/// What is measured beside what [`Metric`] names.
const OTHERS: [&str; 3] = ["bucket", "nginx", "haproxy"];

impl Swept {
    /// What is measured for a period: of a bucket, at the rate that is tightest there.
    pub(crate) fn measure(&self, period: Span, frontier: Option<&Frontier>) -> Option<Measure> {
        Choices { period, ..self.0.clone() }.measure(frontier)
    }
}

impl FromStr for Swept {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let mut choices = Choices { target: Target::Rust, by: None, ..Choices::default() };
        match text {
            "bucket" => {}
            "nginx" | "haproxy" => choices.set("for", text)?,
            _ => {
                let others = OTHERS.join(", ");
                let help =
                    |e: ParseError| ParseError::whole(text, format!("{}, {others}", e.problem()));
                choices.by = Some(text.parse::<Metric>().map_err(help)?);
            }
        }
        Ok(Swept(choices))
    }
}
