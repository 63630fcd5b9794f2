//! An index of many wildcards by the texts that they match.

use super::value::Wildcard;
use std::collections::HashMap;

/// The most wildcards with the same beginning and end: a text with both is compared with each of them.
const MOST_ALIKE: usize = 1000;

/// Wildcards with their places, indexed by the text before the first star, and then by the text after the last star.
/// Many wildcards rarely share both.
#[derive(Clone, Debug, Default)]
pub(super) struct Wildcards(Ends<Ends<Vec<(usize, Wildcard)>>>);

/// An index of values by the beginning, or the end, of a text.
#[derive(Clone, Debug, Default)]
struct Ends<T> {
    values: HashMap<String, T>,
    /// The different lengths of the ends.
    lengths: Vec<usize>,
}

impl<T: Default> Ends<T> {
    fn entry(&mut self, end: &str) -> &mut T {
        if !self.lengths.contains(&end.len()) {
            self.lengths.push(end.len());
        }
        self.values.entry(end.to_owned()).or_default()
    }

    /// The values whose keys are the beginnings, or the ends, of a text: `end` cuts the text to each length.
    fn of<'a>(
        &'a self,
        end: impl Fn(usize) -> Option<&'a str>,
    ) -> impl Iterator<Item = (usize, &'a T)> {
        let found = move |length: &usize| Some((*length, self.values.get(end(*length)?)?));
        self.lengths.iter().filter_map(found)
    }
}

impl Wildcards {
    /// Adds a wildcard, whose place is behind all others.
    ///
    /// # Errors
    /// If too many have the same beginning and end.
    pub(super) fn push(&mut self, place: usize, wildcard: Wildcard) -> Result<(), String> {
        let [first, last] = wildcard.ends();
        let with_ends = self.0.entry(first).entry(last);
        if with_ends.len() == MOST_ALIKE {
            return Err(format!(
                "more than {MOST_ALIKE} values that begin with {first:?} and end with {last:?} around \
                 stars; put other texts before the first star or behind the last one"
            ));
        }
        with_ends.push((place, wildcard));
        Ok(())
    }

    /// The place of the first wildcard that matches a text. The text may be a wildcard's: only a star matches a star,
    /// and a star matches anything, so the result is the first wildcard that contains it.
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

    /// The places of all wildcards that match a text.
    pub(super) fn matching(&self, text: &str) -> Vec<usize> {
        let matching =
            self.with_ends(text).flatten().filter(|(_, wildcard)| wildcard.matches(text));
        matching.map(|(place, _)| *place).collect()
    }

    /// The place of the wildcard that matches everything.
    pub(super) fn all(&self) -> Option<usize> {
        let mut without_ends = self.0.values.get("")?.values.get("")?.iter();
        without_ends.find(|(_, wildcard)| wildcard.is_all()).map(|(place, _)| *place)
    }

    /// The wildcards with the beginning and the end of a text.
    fn with_ends<'a>(&'a self, text: &'a str) -> impl Iterator<Item = &'a [(usize, Wildcard)]> {
        let by_first = self.0.of(move |length| text.get(..length));
        by_first.flat_map(move |(before, by_last)| {
            let rest = text.get(before..).unwrap_or_default();
            let last = move |length| rest.get(rest.len().checked_sub(length)?..);
            by_last.of(last).map(|(_, with_ends)| with_ends.as_slice())
        })
    }
}
