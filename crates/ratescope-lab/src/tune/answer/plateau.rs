//! The clients far above all others: the recommended limit stops them, and another would not.

use super::Analysis;
use super::in_words::briefly;
use crate::tune::Summary;
use ratescope::internal::{grouped, plural};
use ratescope::limit::any::AnyLimiter;

/// The [outliers](crate::tune::outliers), without which the recommended limit is chosen, and the limit with them.
#[derive(Clone, Debug, PartialEq)]
pub struct Plateau {
    /// The places of the outliers.
    pub outliers: Vec<usize>,
    /// The limit with the outliers, and the number of clients that it touches; `None` if there is none.
    pub upper: Option<(AnyLimiter, u64)>,
}

/// The most clients that a sentence names.
const NAMED: usize = 3;

impl Plateau {
    /// Why the limit is not higher, in two sentences, as in "203.0.113.9 came far faster than the 40 others, and was
    /// left out when the limit was chosen. With it, the limit would be 50 a minute, which refuses nobody."
    pub fn sentence(&self, analysis: &Analysis) -> String {
        let others = analysis.clients().clients().saturating_sub(self.outliers.len() as u64);
        let others = match others {
            1 => "the other one".to_owned(),
            n => format!("the {} others", grouped(n)),
        };
        let who = names(&analysis.imported().summary, &self.outliers);
        let (was, them) = if self.outliers.len() == 1 { ("was", "it") } else { ("were", "them") };
        let upper = match &self.upper {
            None => "there would be no limit".to_owned(),
            Some((upper, 0)) => {
                format!("the limit would be {}, which refuses nobody", briefly(upper))
            }
            Some((upper, n)) => format!(
                "the limit would be {}, which refuses something to {} client{}",
                briefly(upper),
                grouped(*n),
                plural(*n)
            ),
        };
        format!(
            "{who} came far faster than {others}, and {was} left out when the limit was chosen. With {them}, \
             {upper}."
        )
    }
}

/// The names of clients.
fn names(summary: &Summary, places: &[usize]) -> String {
    let (first, rest) = places.split_at(places.len().min(NAMED));
    let mut names: Vec<String> = first.iter().map(|place| summary.name(*place)).collect();
    match rest.len() {
        0 => {}
        1 => names.push("1 other".to_owned()),
        n => names.push(format!("{} others", grouped(n as u64))),
    }
    match names.pop() {
        Some(last) if names.is_empty() => last,
        Some(last) => format!("{} and {last}", names.join(", ")),
        None => String::new(),
    }
}
