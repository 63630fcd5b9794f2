//! Rows: events that own their fields and outlive their line.

use super::record::Record;
use ratescope::event::{Event, Fields};
use ratescope::time::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The names of the fields of rows, sorted, shared by all rows of a log. There may be thousands: the fields of all
/// rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Names(Arc<[String]>);

impl Names {
    fn place(&self, name: &str) -> Option<usize> {
        self.0.binary_search_by(|known| known.as_str().cmp(name)).ok()
    }
}

impl<T: Into<String>> FromIterator<T> for Names {
    fn from_iter<I: IntoIterator<Item = T>>(names: I) -> Self {
        let names: BTreeSet<String> = names.into_iter().map(Into::into).collect();
        Names(names.into_iter().collect())
    }
}

/// An event with a copy of some of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The time.
    pub time: Time,
    /// The cost.
    pub cost: f64,
    names: Names,
    /// The values of the event, each with the index of its name, in the order of the names.
    values: Box<[(usize, Box<str>)]>,
}

impl Row {
    /// Copies the fields `names` of an event.
    pub fn new(record: &Record<'_>, names: &Names) -> Self {
        Row::of(record, names, &|name| record.value(name).map(Box::from))
    }

    /// Copies the fields `names` of an event, without grouping IPv6 addresses.
    pub fn ungrouped(record: &Record<'_>, names: &Names) -> Self {
        Row::of(record, names, &|name| record.ungrouped(name))
    }

    fn of(record: &Record<'_>, names: &Names, value: &dyn Fn(&str) -> Option<Box<str>>) -> Self {
        // There may be thousands of names and of values in a line, so neither list is searched once for each item of
        // the other.
        let placed = names.0.iter().enumerate().filter(|(_, name)| record.is_placed(name));
        let placed = placed.filter_map(|(place, name)| Some((place, value(name)?)));
        let named = record.named().filter_map(|(name, value)| {
            let place = names.place(name)?;
            (!record.is_placed(name)).then(|| (place, value.into()))
        });
        let mut values: Vec<(usize, Box<str>)> = placed.chain(named).collect();
        // If a name occurs twice, its first value counts.
        values.sort_by_key(|(place, _)| *place);
        values.dedup_by_key(|(place, _)| *place);
        Row {
            time: record.time(),
            cost: record.cost(),
            names: names.clone(),
            values: values.into(),
        }
    }

    /// The bytes that it takes in memory, without the shared names.
    pub fn bytes(&self) -> usize {
        let texts: usize = self.values.iter().map(|(_, text)| text.len()).sum();
        size_of::<Self>() + size_of_val(&*self.values) + texts
    }

    /// The event.
    pub fn event(&self) -> Event<'_> {
        Event { time: self.time, cost: self.cost, fields: self }
    }
}

impl Fields for Row {
    fn value(&self, name: &str) -> Option<&str> {
        let place = self.names.place(name)?;
        let at = self.values.binary_search_by_key(&place, |(place, _)| *place).ok()?;
        self.values.get(at).map(|(_, value)| &**value)
    }
}
