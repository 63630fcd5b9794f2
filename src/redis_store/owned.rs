//! Events that outlive the call that asked about them.

use super::plan::Plan;
use crate::event::Event;
use crate::time::Time;

/// An event that owns its fields. It keeps only those that rules are about.
#[derive(Debug)]
pub(super) struct Owned {
    time: Time,
    cost: f64,
    fields: Vec<(String, String)>,
}

impl Owned {
    pub(super) fn new(event: &Event<'_>, plan: &Plan) -> Self {
        let field = |name: &String| Some((name.clone(), event.fields.value(name)?.to_owned()));
        let fields = plan.fields.iter().filter_map(field).collect();
        Owned { time: event.time, cost: event.cost, fields }
    }

    pub(super) fn event(&self) -> Event<'_> {
        Event { time: self.time, cost: self.cost, fields: &self.fields }
    }
}
