//! Adding up clients that were read separately.

use super::stream::{Moment, is_near};
use super::{BadSummary, Clients, Codes};
use ratescope::internal::is_cost;
use ratescope::time::Time;

impl Clients {
    /// Adds the clients and events of another reading, and sorts the events of each client by time.
    ///
    /// The result is that of reading both logs at once, whether they were split by key, by time or by
    /// chance. If some clients were left out, counts of clients are estimates, as before.
    pub fn absorb(&mut self, other: &Clients) {
        if self.halvings < other.halvings {
            self.halve_while(|clients| clients.halvings < other.halvings);
        }
        let mut merged = Vec::new();
        let translated = self.absorb_labels(other);
        let own = |codes: Codes| {
            let mut own = Codes::default();
            for (own, (code, all)) in own.iter_mut().zip(codes.into_iter().zip(&translated)) {
                *own = all.get(usize::from(code)).copied().unwrap_or_default();
            }
            own
        };
        let exempt = if other.halvings == 0 { other.exempt() } else { Vec::new() };
        for (at, client) in other.list.iter().enumerate() {
            // Clients kept there as the busiest, and not by chance, are kept here, too. So they represent nobody else,
            // even if they were in the sample here.
            let is_busiest = client.halvings == 0 && exempt.get(at) != Some(&false);
            let halvings = (is_busiest || client.halvings > 0).then_some(client.halvings);
            let Some(place) = self.place(other.key(at), halvings) else {
                self.counts.left_out += u64::from(client.requests);
                continue;
            };
            if let Some(client) = self.list.get_mut(place).filter(|_| is_busiest) {
                client.halvings = 0;
            }
            let late = self.counts.late;
            if other.moments(at).next().is_some_and(|m| self.is_past(place, m.time)) {
                merged.clear();
                let others = other.labelled_moments(at).map(|(moment, codes)| (moment, own(codes)));
                merged.extend(self.labelled_moments(place).chain(others));
                merged.sort_by_key(|(moment, _)| moment.time);
                if let Some(client) = self.list.get_mut(place) {
                    client.clear();
                }
                for &(moment, codes) in &merged {
                    self.push(place, moment, codes);
                }
            } else {
                for (moment, codes) in other.labelled_moments(at) {
                    self.push(place, moment, own(codes));
                }
            }
            // Events that are sorted in did not come late; the other's late ones are added below.
            self.counts.late = late;
            if self.is_over() {
                self.make_room();
            }
        }
        let mine = &mut self.counts;
        let its = &other.counts;
        mine.requests = mine.requests.saturating_add(its.requests);
        mine.late = mine.late.saturating_add(its.late);
        mine.unusable = mine.unusable.saturating_add(its.unusable);
        mine.left_out = mine.left_out.saturating_add(its.left_out);
    }

    /// Adds the labels of another reading. Returns the number here of each label, by its number there; no
    /// numbers if one of the two keeps no labels.
    pub(super) fn absorb_labels(&mut self, other: &Clients) -> [Vec<u16>; 2] {
        let mut translated = <[Vec<u16>; 2]>::default();
        let (Some(mine), Some(its)) = (&mut self.labels, &other.labels) else { return translated };
        for ((mine, its), all) in mine.iter_mut().zip(its).zip(&mut translated) {
            let code = |code: usize| mine.texts.translated(&its.texts, code as u16);
            *all = (0..its.texts.codes()).map(code).collect();
            for (code, n) in all.iter().zip(&its.requests) {
                mine.count(*code, *n);
            }
        }
        translated
    }

    /// Adds a client from a summary.
    ///
    /// # Errors
    /// When the client is here already, or has an event that can't be kept.
    pub(super) fn restore(
        &mut self,
        key: &str,
        halvings: u8,
        moments: &[Moment],
    ) -> Result<(), BadSummary> {
        let twice = self.find(key).is_some();
        let place = self.place(key, Some(halvings)).filter(|_| !twice);
        let place = place.ok_or(BadSummary::Damaged("a client"))?;
        for &moment in moments {
            if !is_cost(moment.cost) || !is_near(moment.time) {
                return Err(BadSummary::Damaged("an event"));
            }
            self.push(place, moment, Codes::default());
        }
        Ok(())
    }

    /// Returns whether `time` is before the last event of the client at `place`.
    fn is_past(&self, place: usize, time: Time) -> bool {
        self.list.get(place).is_some_and(|client| time.as_micros() < client.last)
    }
}
