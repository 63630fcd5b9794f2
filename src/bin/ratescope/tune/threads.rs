//! One log, read by all processors.

use ratescope::lab::tune::Batch;
use ratescope::log::{Counts, Error, Options, Pieces, Reader, Record};
use std::io::Read;
use std::num::NonZero;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread;

/// How many pieces are on their way for each thread, so that none of them waits for another.
const ON_THEIR_WAY: usize = 4;

/// A piece of the log on its way: to a thread that finds its events, to the one that takes them, and
/// back to be filled again.
struct Piece {
    number: usize,
    text: Vec<u8>,
    batch: Batch,
    /// What became of its lines.
    counts: Result<Counts, Error>,
}

impl Piece {
    fn new(number: usize) -> Self {
        let (text, batch) = (Vec::new(), Batch::default());
        Piece { number, text, batch, counts: Ok(Counts::default()) }
    }
}

/// What is left of the log, and the pieces to put it into.
struct Rest<R> {
    pieces: Pieces<R>,
    empty: Receiver<Piece>,
    /// The reader of the first piece, which may have a header.
    first: Option<Reader>,
    number: usize,
    ended: bool,
}

/// Finds the events of a log by `find`, in as many threads as there are processors, and has them
/// taken in their order by `take`.
pub(super) fn read<R: Read + Send>(
    pieces: Pieces<R>,
    options: &Options,
    find: impl Fn(&Record<'_>, &mut Batch) + Sync,
    take: impl FnMut(&mut Batch),
) -> Result<Counts, Error> {
    let shape = pieces.shape().clone();
    let threads = match shape.is_divisible() {
        true => thread::available_parallelism().map_or(1, NonZero::get),
        false => 1,
    };
    let readers = (0..threads).map(|_| Reader::of_parts(&shape, options));
    let readers = readers.collect::<Result<Vec<_>, _>>()?;
    let first = Some(Reader::new(&shape, options)?);

    let (refill, empty) = channel();
    let count = ON_THEIR_WAY * threads;
    (0..count).for_each(|number| refill.send(Piece::new(number)).unwrap_or(()));
    let rest = Mutex::new(Rest { pieces, empty, first, number: 0, ended: false });
    let (filled, found) = channel();
    thread::scope(|scope| {
        for reader in readers {
            let (rest, find, filled) = (&rest, &find, filled.clone());
            scope.spawn(move || work(rest, reader, find, &filled));
        }
        drop(filled);
        in_order(count, &found, &refill, take)
    })
}

/// Finds the events of pieces, as long as there are any.
fn work<R: Read>(
    rest: &Mutex<Rest<R>>,
    mut reader: Reader,
    find: &impl Fn(&Record<'_>, &mut Batch),
    found: &Sender<Piece>,
) {
    while let Some(mut piece) = next(rest, &mut reader) {
        let Piece { text, batch, counts, .. } = &mut piece;
        if counts.is_ok() {
            let read = reader.read_part(text, &mut |record| find(record, batch));
            *counts = read.map_err(Error::from);
        }
        if found.send(piece).is_err() {
            return;
        }
    }
}

/// The next piece of the log, if there is one. One that could not be read has no lines.
fn next<R: Read>(rest: &Mutex<Rest<R>>, reader: &mut Reader) -> Option<Piece> {
    let mut rest = rest.lock().unwrap_or_else(PoisonError::into_inner);
    if rest.ended {
        return None;
    }
    let mut piece = rest.empty.recv().ok()?;
    let more = rest.pieces.next(&mut piece.text);
    rest.ended = !matches!(more, Ok(true));
    if let Ok(false) = more {
        return None;
    }
    (piece.number, rest.number) = (rest.number, rest.number + 1);
    if let Some(first) = rest.first.take() {
        *reader = first;
    }
    piece.counts = match more {
        Ok(_) => Ok(Counts::default()),
        Err(error) => Err(Error::Input { line: 0, error }),
    };
    Some(piece)
}

/// Has the events of `found` taken in their order, of which no more than `count` are on their way.
fn in_order(
    count: usize,
    found: &Receiver<Piece>,
    refill: &Sender<Piece>,
    mut take: impl FnMut(&mut Batch),
) -> Result<Counts, Error> {
    let mut early: Vec<Option<Piece>> = (0..count).map(|_| None).collect();
    let (mut all, mut number) = (Counts::default(), 0);
    for piece in found {
        let place = piece.number % count;
        early[place] = Some(piece);
        while let Some(mut piece) = early[number % count].take() {
            number += 1;
            match std::mem::replace(&mut piece.counts, Ok(Counts::default())) {
                Ok(counts) => all.add(&counts),
                Err(Error::Input { error, .. }) => {
                    return Err(Error::Input { line: all.lines, error });
                }
                Err(error) => return Err(error),
            }
            take(&mut piece.batch);
            // Where all has been read, nobody wants it any more.
            let _ = refill.send(piece);
        }
    }
    Ok(all)
}
