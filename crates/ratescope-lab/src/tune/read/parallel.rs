//! Reading a log on all processors.
//!
//! Each thread takes the next piece of the log and finds its events. The events have to be counted in order, by one
//! thread at a time. So a thread that has found the events of a piece counts all pieces that are next in order, unless
//! another thread is counting already and will count this piece, too. So no thread ever has to be woken.

use super::batch::Batch;
use crate::tune::threads::{lock, threads};
use core::mem;
use ratescope_log::{Counts, Error, Options, Pieces, Reader, Record};
use std::io::Read;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// The number of pieces for each thread: enough that no thread waits for another.
const ON_THEIR_WAY: usize = 4;

/// A piece of the log, its events, and the counts of its lines.
struct Piece {
    number: usize,
    lines: ratescope_log::Piece,
    batch: Batch,
    counts: Result<Counts, Error>,
}

impl Piece {
    fn new(number: usize) -> Self {
        Piece {
            number,
            lines: ratescope_log::Piece::default(),
            batch: Batch::default(),
            counts: Ok(Counts::default()),
        }
    }
}

/// The rest of the log, and the empty pieces to fill with it.
struct Rest<R> {
    pieces: Pieces<R>,
    /// The piece given back last is filled first: its memory is still in a cache.
    empty: Vec<Piece>,
    given_back: Receiver<Piece>,
    number: usize,
    ended: bool,
}

/// Pieces whose events were found, waiting until the earlier pieces are taken.
struct InOrder<F> {
    early: Vec<Option<Piece>>,
    /// The number of the next piece to take.
    next: usize,
    /// Takes the pieces; `None` while a thread uses it.
    taker: Option<Taker<F>>,
    /// A thread has panicked, and its piece will never come.
    panicked: bool,
}

/// If its thread panics, drops the taker, and with it the sender of empty pieces: that ends the other threads, which
/// wait for an empty piece.
struct Guard<'a, F>(&'a Mutex<InOrder<F>>);

impl<F> Drop for Guard<'_, F> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut all = lock(self.0);
            all.taker = None;
            all.panicked = true;
        }
    }
}

struct Taker<F> {
    take: F,
    counts: Result<Counts, Error>,
    /// Returns empty pieces; `None` after an error, which ends the reading.
    refill: Option<Sender<Piece>>,
}

/// Calls `find` on each piece of a log, on all processors, then `take` on the pieces in order, with the events found.
pub(super) fn read<R: Read + Send>(
    pieces: Pieces<R>,
    options: &Options,
    find: impl Fn(&Record<'_>, &mut Batch) + Sync,
    take: impl FnMut(&mut Batch) + Send,
) -> Result<Counts, Error> {
    let shape = pieces.shape().clone();
    let threads = if shape.is_divisible() { threads() } else { 1 };
    let readers = (1..threads).map(|_| Reader::new(&shape, options));
    let readers = readers.collect::<Result<Vec<_>, _>>()?;
    let mine = Reader::new(&shape, options)?;

    let (refill, given_back) = channel();
    let count = ON_THEIR_WAY * threads;
    let empty = (0..count).map(Piece::new).collect();
    let rest = Mutex::new(Rest { pieces, empty, given_back, number: 0, ended: false });
    let taker = Some(Taker { take, counts: Ok(Counts::default()), refill: Some(refill) });
    let early = (0..count).map(|_| None).collect();
    let found = Mutex::new(InOrder { early, next: 0, taker, panicked: false });
    thread::scope(|scope| {
        let rest = &rest;
        let find = &find;
        let found = &found;
        for reader in readers {
            scope.spawn(move || work(rest, reader, find, found));
        }
        work(rest, mine, find, found);
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.taker.map_or(Ok(Counts::default()), |taker| taker.counts)
}

/// Finds the events of pieces until the log ends. After each piece, takes all pieces that are next in order.
fn work<R: Read, F: FnMut(&mut Batch)>(
    rest: &Mutex<Rest<R>>,
    mut reader: Reader,
    find: &impl Fn(&Record<'_>, &mut Batch),
    found: &Mutex<InOrder<F>>,
) {
    let _guard = Guard(found);
    while let Some(mut piece) = next(rest) {
        let Piece { lines, batch, counts, .. } = &mut piece;
        if counts.is_ok() {
            let read = reader.read_piece(lines, &mut |record| find(record, batch));
            *counts = read.map_err(Error::from);
        }
        let mut all = lock(found);
        all.insert(piece);
        let Some(mut taker) = all.taker.take() else { continue };
        while let Some(piece) = all.next() {
            drop(all);
            taker.count(piece);
            all = lock(found);
        }
        all.taker = Some(taker).filter(|_| !all.panicked);
    }
}

/// The next piece of the log; `None` at its end. A piece that could not be read has the error in place of its counts,
/// and is the last.
fn next<R: Read>(rest: &Mutex<Rest<R>>) -> Option<Piece> {
    let mut rest = lock(rest);
    if rest.ended {
        return None;
    }
    let Rest { empty, given_back, .. } = &mut *rest;
    empty.extend(given_back.try_iter());
    let mut piece = empty.pop().or_else(|| given_back.recv().ok())?;
    let more = rest.pieces.next(&mut piece.lines);
    rest.ended = !matches!(more, Ok(true));
    if let Ok(false) = more {
        return None;
    }
    piece.number = rest.number;
    rest.number += 1;
    piece.counts = match more {
        Ok(_) => Ok(Counts::default()),
        Err(error) => Err(Error::Input { line: 0, error }),
    };
    Some(piece)
}

impl<F> InOrder<F> {
    fn insert(&mut self, piece: Piece) {
        let count = self.early.len();
        if let Some(place) = self.early.get_mut(piece.number % count) {
            *place = Some(piece);
        }
    }

    /// The next piece to take, if its events were found.
    fn next(&mut self) -> Option<Piece> {
        let count = self.early.len();
        let piece = self.early.get_mut(self.next % count)?.take()?;
        self.next += 1;
        Some(piece)
    }
}

impl<F: FnMut(&mut Batch)> Taker<F> {
    fn count(&mut self, mut piece: Piece) {
        let Ok(all) = &mut self.counts else { return };
        match mem::replace(&mut piece.counts, Ok(Counts::default())) {
            Ok(counts) => all.add(&counts),
            Err(error) => {
                let error = match error {
                    Error::Input { error, .. } => Error::Input { line: all.lines, error },
                    other => other,
                };
                self.counts = Err(error);
                self.refill = None;
                return;
            }
        }
        (self.take)(&mut piece.batch);
        if let Some(refill) = &self.refill {
            // Sending fails once the receiver has read enough and is gone: no error.
            let _ = refill.send(piece);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};
    use std::sync::atomic::{AtomicUsize, Ordering};

    /// The other threads end even if they wait for the piece of the thread that panicked.
    #[test]
    fn a_panic_while_a_log_is_read_ends_all() {
        let line = format!("1,{}\n", "x".repeat(61));
        let log = "time,name\n".to_owned() + &line.repeat((ON_THEIR_WAY * threads() + 20) << 13);
        let options = Options::default();
        let pieces = Pieces::open(log.as_bytes(), &options).unwrap();
        let events = AtomicUsize::new(0);
        let find = |_: &Record<'_>, _: &mut Batch| {
            let place = events.fetch_add(1, Ordering::Relaxed);
            assert_ne!(place, 1 << 14, "this is the panic that the test is about");
        };
        let read = || read(pieces, &options, find, |_| {});
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
    }
}
