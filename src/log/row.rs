//! Rows: events that own their fields and outlive their line.

use super::record::Record;
use crate::event::{Event, Fields};
use crate::time::Time;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The names of the fields that rows keep, sorted, shared by all rows of a log. There may be thousands: the fields of
/// all rules.
#[derive(Clone, Debug, PartialEq)]
pub struct Names(Arc<[String]>);

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
    /// In the order of the names.
    values: Box<[Option<Box<str>>]>,
}

impl Row {
    /// Copies the fields `names` of an event.
    pub fn new(record: &Record<'_>, names: &Names) -> Self {
        let values = names.0.iter().map(|name| record.value(name).map(Box::from)).collect();
        Row { time: record.time(), cost: record.cost(), names: names.clone(), values }
    }

    /// The bytes that it takes in memory, without the shared names.
    pub fn bytes(&self) -> usize {
        let texts: usize = self.values.iter().flatten().map(|text| text.len()).sum();
        size_of::<Self>() + size_of_val(&*self.values) + texts
    }

    /// The event.
    pub fn event(&self) -> Event<'_> {
        Event { time: self.time, cost: self.cost, fields: self }
    }
}

impl Fields for Row {
    fn value(&self, name: &str) -> Option<&str> {
        let place = self.names.0.binary_search_by(|known| known.as_str().cmp(name)).ok()?;
        self.values.get(place)?.as_deref()
    }
}
