//! Many wildcards, found by a text without trying each.

use super::value::Wildcard;
use std::collections::HashMap;

/// The most wildcards that begin and end alike: a text that does so, too, is compared with each.
const MOST_ALIKE: usize = 1000;

/// Wildcards with their places, found by the texts before their first star and after their last one. Many
/// wildcards rarely share both.
#[derive(Clone, Debug, Default)]
pub(super) struct Wildcards {
    by_ends: HashMap<String, HashMap<String, Vec<(usize, Wildcard)>>>,
    /// The different lengths of both ends.
    lengths: Vec<[usize; 2]>,
}

impl Wildcards {
    /// Adds a wildcard, with a place behind those of the others.
    ///
    /// # Errors
    /// If too many begin and end as it does.
    pub(super) fn push(&mut self, place: usize, wildcard: Wildcard) -> Result<(), String> {
        let [first, last] = wildcard.ends().map(str::to_owned);
        let lengths = [first.len(), last.len()];
        if !self.lengths.contains(&lengths) {
            self.lengths.push(lengths);
        }
        let with_ends = self.by_ends.entry(first).or_default().entry(last).or_default();
        if with_ends.len() == MOST_ALIKE {
            let [first, last] = wildcard.ends();
            return Err(format!(
                "more than {MOST_ALIKE} values that begin with {first:?} and end with {last:?} around \
                 stars; put other texts before the first star or behind the last one"
            ));
        }
        with_ends.push((place, wildcard));
        Ok(())
    }

    /// The place of the first wildcard that matches a text. If the text is that of a wildcard, this is the first one
    /// that matches everything that the wildcard does: no part contains a star, so only a star can match a star of the
    /// text, and would match any characters there, too.
    pub(super) fn first(&self, text: &str) -> Option<usize> {
        let mut first: Option<usize> = None;
        for with_ends in self.with_ends(text) {
            let earlier =
                |(place, _): &&(usize, Wildcard)| first.is_none_or(|first| *place < first);
            let mut earlier = with_ends.iter().take_while(earlier);
            let found = earlier.find(|(_, wildcard)| wildcard.matches(text));
            first = found.map(|(place, _)| *place).or(first);
        }
        first
    }

    /// The places of all that match a text.
    pub(super) fn matching(&self, text: &str) -> Vec<usize> {
        let matching =
            self.with_ends(text).flatten().filter(|(_, wildcard)| wildcard.matches(text));
        matching.map(|(place, _)| *place).collect()
    }

    /// The place of the wildcard that matches everything.
    pub(super) fn all(&self) -> Option<usize> {
        let mut without_ends = self.by_ends.get("")?.get("")?.iter();
        without_ends.find(|(_, wildcard)| wildcard.is_all()).map(|(place, _)| *place)
    }

    /// The wildcards that have the ends of a text, for each of the `lengths` in order.
    fn with_ends<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a [(usize, Wildcard)]> {
        self.lengths.iter().filter_map(move |[before, after]| {
            let end = text.len().checked_sub(*after).filter(|end| end >= before)?;
            let (before, after) = (text.get(..*before)?, text.get(end..)?);
            self.by_ends.get(before)?.get(after).map(Vec::as_slice)
        })
    }
}
