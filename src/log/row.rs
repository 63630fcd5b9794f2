//! Rows: events that own their fields and outlive their line.

use super::record::Record;
use crate::event::{Event, Fields};
use crate::time::Time;
use std::sync::Arc;

/// An event with a copy of some of its fields.
#[derive(Clone, Debug, PartialEq)]
pub struct Row {
    /// The time.
    pub time: Time,
    /// The cost.
    pub cost: f64,
    /// The names of the fields, in the order of the values, shared by all rows of a log.
    names: Arc<[String]>,
    values: Box<[Option<Box<str>>]>,
}

impl Row {
    /// Copies the fields `names` of an event.
    pub fn new(record: &Record<'_>, names: &Arc<[String]>) -> Self {
        let values = names.iter().map(|name| record.value(name).map(Box::from)).collect();
        Row { time: record.time(), cost: record.cost(), names: Arc::clone(names), values }
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
        let place = self.names.iter().position(|known| known == name)?;
        self.values.get(place)?.as_deref()
    }
}
