//! The paths and agents of events, kept so that it can be told whose requests a limit refuses.

use super::dictionary::{Codes, Dictionary};
use super::{Clients, Moment};

/// The texts of a field, and the number of events with each.
#[derive(Clone, Debug, Default)]
pub(in crate::lab::tune) struct Told {
    pub(in crate::lab::tune) texts: Dictionary,
    pub(in crate::lab::tune) requests: Vec<u64>,
}

impl Told {
    pub(super) fn count(&mut self, code: u16, n: u64) {
        let place = usize::from(code);
        if place >= self.requests.len() {
            self.requests.resize(place + 1, 0);
        }
        if let Some(requests) = self.requests.get_mut(place) {
            *requests += n;
        }
    }
}

impl Clients {
    /// Keeps the path and the agent of each event, too; for clients without events. These take four
    /// bytes an event.
    pub fn tell(&mut self) {
        self.told = Some(Default::default());
    }

    /// The numbers that texts of other dictionaries have here. `known` keeps them for the next time.
    #[cfg(feature = "log")]
    #[inline]
    pub(in crate::lab::tune) fn translate(
        &mut self,
        of: &[Dictionary; 2],
        codes: Codes,
        known: &mut [Vec<u16>; 2],
    ) -> Codes {
        let Some(told) = &mut self.told else { return Codes::default() };
        let mut own = Codes::default();
        let fields = told.iter_mut().zip(of).zip(known).zip(codes);
        for (own, (((told, of), known), code)) in own.iter_mut().zip(fields) {
            for next in known.len()..=code.into() {
                known.push(told.texts.translated(of, next as u16));
            }
            *own = known.get(usize::from(code)).copied().unwrap_or_default();
        }
        own
    }

    /// The bytes of all texts.
    #[inline]
    pub(super) fn told_bytes(&self) -> usize {
        self.told.iter().flatten().map(|told| told.texts.bytes()).sum()
    }

    /// The events of the client at `place`, with the numbers of their paths and agents.
    pub(in crate::lab::tune) fn told_moments(
        &self,
        place: usize,
    ) -> impl Iterator<Item = (Moment, Codes)> + '_ {
        let mut moments = self.read(place);
        core::iter::from_fn(move || moments.next_told())
    }

    /// Adds the paths and the agents of another reading; returns the number that each has here.
    pub(super) fn absorb_told(&mut self, other: &Clients) -> [Vec<u16>; 2] {
        let mut translated = <[Vec<u16>; 2]>::default();
        let (Some(mine), Some(its)) = (&mut self.told, &other.told) else { return translated };
        for ((mine, its), all) in mine.iter_mut().zip(its).zip(&mut translated) {
            let code = |code: usize| mine.texts.translated(&its.texts, code as u16);
            *all = (0..its.texts.codes()).map(code).collect();
            for (code, n) in all.iter().zip(&its.requests) {
                mine.count(*code, *n);
            }
        }
        translated
    }
}
