//! Reading a log and counting its clients with all processors.
//!
//! Each thread takes the next piece of the log and finds its events. The events have to be counted in their
//! order, by one thread at a time. So a thread that has found the events of a piece counts all pieces that
//! are next in order, unless another thread is doing that already and will count this one, too. No thread
//! ever has to be woken for it.

use ratescope::Time;
use ratescope_lab::tune::{Batch, Clients, Curve, Hands, Replay};
use ratescope_log::{self, Counts, Error, Options, Pieces, Reader, Record};
use std::io::Read;
use std::num::NonZero;
use std::ops::Range;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread::{self, ScopedJoinHandle};

fn threads() -> usize {
    thread::available_parallelism().map_or(1, NonZero::get)
}

/// All processors.
pub(super) const HANDS: Hands<'_> = Hands { count: &count, replay: &replay };

/// How many clients a thread takes at once. Busy clients come early in the list, and no single thread must
/// get all of them.
const AT_ONCE: usize = 1024;

/// Adds the clients at `places` to the curves, with all processors.
fn count(clients: &Clients, curves: &mut [Curve], cut: Option<Time>, places: Range<usize>) {
    let next = AtomicUsize::new(places.start);
    let empty: Vec<Curve> = curves.iter().map(|curve| Curve::new(curve.measure)).collect();
    let part = || {
        let mut curves = empty.clone();
        loop {
            let from = next.fetch_add(AT_ONCE, Ordering::Relaxed);
            if from >= places.end {
                return curves;
            }
            clients.measure(&mut curves, cut, from..places.end.min(from + AT_ONCE));
        }
    };
    for part in on_each(part) {
        curves.iter_mut().zip(&part).for_each(|(all, part)| all.add(part));
    }
}

/// The parts of a replay: enough that no thread waits long for another.
const PARTS: usize = 64;

/// Does all that is left of a replay.
fn replay(replay: &mut Replay, clients: &Clients, _: u64) -> bool {
    let ahead = Mutex::new(replay.split(PARTS));
    let next = || lock(&ahead).pop();
    let part = || {
        let mut parts = Vec::new();
        while let Some(mut part) = next() {
            part.advance(clients, u64::MAX);
            parts.push(part);
        }
        parts
    };
    replay.join(on_each(part).into_iter().flatten());
    true
}

/// Calls `part` once on each processor, and returns all results.
fn on_each<T: Send>(part: impl Fn() -> T + Sync) -> Vec<T> {
    let part = &part;
    thread::scope(|scope| {
        let running: Vec<_> = (0..threads()).map(|_| scope.spawn(part)).collect();
        // A panic goes on here: without the result of its thread, the others would count too little.
        let result = |thread: ScopedJoinHandle<'_, T>| {
            thread.join().unwrap_or_else(|panic| resume_unwind(panic))
        };
        running.into_iter().map(result).collect()
    })
}

/// How many pieces there are for each thread: enough that no thread waits for another.
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
        let (lines, batch) = Default::default();
        Piece { number, lines, batch, counts: Ok(Counts::default()) }
    }
}

/// The rest of the log, and the empty pieces to fill with it.
struct Rest<R> {
    pieces: Pieces<R>,
    /// Those given back last are at the end, and are filled first: their memory is still in a cache.
    empty: Vec<Piece>,
    given_back: Receiver<Piece>,
    number: usize,
    ended: bool,
}

/// Pieces whose events were found, and which wait until the pieces before them are taken.
struct InOrder<F> {
    early: Vec<Option<Piece>>,
    /// The number of the next piece to be taken.
    next: usize,
    /// Takes the pieces; `None` while a thread is using it.
    taker: Option<Taker<F>>,
    /// Whether a thread has panicked, so that its piece will never come.
    panicked: bool,
}

/// If its thread panics, drops the taker, and with it the sender of empty pieces. The other threads, which
/// wait for one, then end.
struct Guard<'a, F>(&'a Mutex<InOrder<F>>);

impl<F> Drop for Guard<'_, F> {
    fn drop(&mut self) {
        if thread::panicking() {
            let mut all = lock(self.0);
            (all.taker, all.panicked) = (None, true);
        }
    }
}

struct Taker<F> {
    take: F,
    counts: Result<Counts, Error>,
    /// Gives pieces back to be filled again; `None` after an error, which ends the reading.
    refill: Option<Sender<Piece>>,
}

/// Finds the events of a log by `find`, in as many threads as there are processors, and has them
/// taken in their order by `take`.
pub(super) fn read<R: Read + Send>(
    pieces: Pieces<R>,
    options: &Options,
    find: impl Fn(&Record<'_>, &mut Batch) + Sync,
    take: impl FnMut(&mut Batch) + Send,
) -> Result<Counts, Error> {
    let shape = pieces.shape().clone();
    let threads = match shape.is_divisible() {
        true => threads(),
        false => 1,
    };
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
        let (rest, find, found) = (&rest, &find, &found);
        for reader in readers {
            scope.spawn(move || work(rest, reader, find, found));
        }
        work(rest, mine, find, found);
    });
    let found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.taker.map_or(Ok(Counts::default()), |taker| taker.counts)
}

/// Finds the events of pieces until the log ends. After each piece, takes the pieces that are next in order.
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
        all.put(piece);
        let Some(mut taker) = all.taker.take() else { continue };
        while let Some(piece) = all.next() {
            drop(all);
            taker.take(piece);
            all = lock(found);
        }
        all.taker = Some(taker).filter(|_| !all.panicked);
    }
}

/// The next piece of the log; `None` at its end. A piece that could not be read has the error as its counts,
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
    (piece.number, rest.number) = (rest.number, rest.number + 1);
    piece.counts = match more {
        Ok(_) => Ok(Counts::default()),
        Err(error) => Err(Error::Input { line: 0, error }),
    };
    Some(piece)
}

impl<F> InOrder<F> {
    fn put(&mut self, piece: Piece) {
        let count = self.early.len();
        if let Some(place) = self.early.get_mut(piece.number % count) {
            *place = Some(piece);
        }
    }

    /// The piece to be taken next, if its events were found.
    fn next(&mut self) -> Option<Piece> {
        let count = self.early.len();
        let piece = self.early.get_mut(self.next % count)?.take()?;
        self.next += 1;
        Some(piece)
    }
}

impl<F: FnMut(&mut Batch)> Taker<F> {
    fn take(&mut self, mut piece: Piece) {
        let Ok(all) = &mut self.counts else { return };
        match std::mem::replace(&mut piece.counts, Ok(Counts::default())) {
            Ok(counts) => all.add(&counts),
            Err(error) => {
                let error = match error {
                    Error::Input { error, .. } => Error::Input { line: all.lines, error },
                    other => other,
                };
                (self.counts, self.refill) = (Err(error), None);
                return;
            }
        }
        (self.take)(&mut piece.batch);
        if let Some(refill) = &self.refill {
            // Sending fails once the receiver has read enough and is gone, which is no error.
            let _ = refill.send(piece);
        }
    }
}

fn lock<T>(it: &Mutex<T>) -> MutexGuard<'_, T> {
    it.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::panic::{AssertUnwindSafe, catch_unwind};

    /// Without the result of that thread, the answer would be wrong.
    #[test]
    fn a_panic_of_one_thread_ends_all() {
        let first = AtomicUsize::new(0);
        let part = || {
            let place = first.fetch_add(1, Ordering::Relaxed);
            assert_ne!(place, 0, "this is the panic that the test is about");
            place
        };
        assert!(catch_unwind(|| on_each(part)).is_err());
    }

    /// The others end even if they wait for the piece of the thread that panicked.
    #[test]
    fn a_panic_while_a_log_is_read_ends_all() {
        let log = "time\n".to_owned() + &"1\n".repeat((ON_THEIR_WAY * threads() + 20) << 18);
        let options = Options::default();
        let pieces = Pieces::open(log.as_bytes(), &options).unwrap();
        let events = AtomicUsize::new(0);
        let find = |_: &Record<'_>, _: &mut Batch| {
            let place = events.fetch_add(1, Ordering::Relaxed);
            assert_ne!(place, 1 << 19, "this is the panic that the test is about");
        };
        let read = || read(pieces, &options, find, |_| {});
        assert!(catch_unwind(AssertUnwindSafe(read)).is_err());
    }
}
