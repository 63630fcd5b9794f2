//! The labels of events, which are paths and agents. They are kept to say which requests a limit refuses.

use super::dictionary::{Codes, Dictionary, MOST};
use super::{Clients, Moment};

/// All paths, or all agents, and the number of events with each.
#[derive(Clone, Debug, Default)]
pub(in crate::tune) struct Labels {
    pub(in crate::tune) texts: Dictionary,
    pub(in crate::tune) requests: Vec<u64>,
}

impl Labels {
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
    /// From now on keeps the labels of each event, too: its path and its agent, in four bytes. Call it only
    /// before the first event.
    pub fn keep_labels(&mut self) {
        // Labels are never dropped, so they get a part of the room only.
        let most = MOST.min(self.room.bytes / 16);
        self.labels =
            Some([(); 2].map(|()| Labels { texts: Dictionary::new(most), requests: Vec::new() }));
    }

    /// The numbers here of the labels that have the numbers `codes` in the dictionaries `of`. `known` keeps
    /// what was found for the next call.
    #[inline]
    pub(in crate::tune) fn translate(
        &mut self,
        of: &[Dictionary; 2],
        codes: Codes,
        known: &mut [Vec<u16>; 2],
    ) -> Codes {
        let Some(labels) = &mut self.labels else { return Codes::default() };
        let mut own = Codes::default();
        let fields = labels.iter_mut().zip(of).zip(known).zip(codes);
        for (own, (((labels, of), known), code)) in own.iter_mut().zip(fields) {
            for next in known.len()..=code.into() {
                known.push(labels.texts.translated(of, next as u16));
            }
            *own = known.get(usize::from(code)).copied().unwrap_or_default();
        }
        own
    }

    #[inline]
    pub(super) fn label_bytes(&self) -> usize {
        self.labels.iter().flatten().map(|labels| labels.texts.bytes()).sum()
    }

    /// The events of the client at `place`, with the numbers of their labels.
    pub(in crate::tune) fn labelled_moments(
        &self,
        place: usize,
    ) -> impl Iterator<Item = (Moment, Codes)> + '_ {
        let mut moments = self.read(place);
        core::iter::from_fn(move || moments.next_labelled())
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
}
