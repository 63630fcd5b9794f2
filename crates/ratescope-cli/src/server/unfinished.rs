//! A bound for what strangers hold: the bytes of requests that have not arrived whole.
//!
//! Each connection may hold some bytes. What it holds beyond them counts towards a sum for all connections, which has a
//! bound: a connection that would exceed it loses its request. So a crowd of strangers with long requests takes nothing
//! from clients with usual ones, which fit into what is free.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// The most bytes that the connections of a kind hold together, beyond what is free.
const MOST: usize = 64 << 20;

/// What the connections of a kind hold.
#[derive(Debug)]
pub(crate) struct Sum {
    /// The bytes that each connection may hold.
    free: usize,
    /// What all hold beyond that.
    beyond: AtomicUsize,
}

/// Of HTTP/1.
pub(super) static HTTP: Sum = Sum::new(4 << 10);

impl Sum {
    pub(crate) const fn new(free: usize) -> Self {
        Sum { free, beyond: AtomicUsize::new(0) }
    }

    /// How much of what a connection holds is beyond what is free.
    fn beyond(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.free)
    }
}

/// What one connection holds.
#[derive(Debug)]
pub(crate) struct Unfinished {
    sum: &'static Sum,
    bytes: AtomicUsize,
}

impl Unfinished {
    pub(crate) fn new(sum: &'static Sum) -> Arc<Self> {
        Arc::new(Unfinished { sum, bytes: AtomicUsize::new(0) })
    }

    /// Holds so many bytes more; `false` if that is too much.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let more = self.sum.beyond(before + bytes) - self.sum.beyond(before);
        let fits = more == 0 || self.sum.beyond.fetch_add(more, Ordering::Relaxed) + more <= MOST;
        if !fits {
            self.give_back(bytes);
        }
        fits
    }

    pub(crate) fn give_back(&self, bytes: usize) {
        let before = self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        let less = self.sum.beyond(before) - self.sum.beyond(before - bytes);
        self.sum.beyond.fetch_sub(less, Ordering::Relaxed);
    }

    /// Holds nothing any more: the request was answered.
    pub(super) fn clear(&self) {
        let before = self.bytes.swap(0, Ordering::Relaxed);
        self.sum.beyond.fetch_sub(self.sum.beyond(before), Ordering::Relaxed);
    }
}

impl Drop for Unfinished {
    fn drop(&mut self) {
        self.clear();
    }
}

/// A stream whose bytes are held from when they are read until the request is answered. What is read of the next
/// request while one is answered is cleared with that one: it is no more than what is free, which is read at once.
pub(crate) struct Holding<S> {
    pub(crate) stream: S,
    pub(crate) by: Arc<Unfinished>,
}

impl<S: AsyncRead + Unpin> AsyncRead for Holding<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(self.by.sum.free);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.stream).poll_read(context, &mut part))?;
        let read = part.filled().len();
        if !self.by.take(read) {
            return Poll::Ready(Err(ErrorKind::OutOfMemory.into()));
        }
        buffer.advance(read);
        Poll::Ready(Ok(()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_free_is_not_counted_and_all_is_given_back() {
        static SUM: Sum = Sum::new(10);
        let beyond = || SUM.beyond.load(Ordering::Relaxed);
        let (one, other) = (Unfinished::new(&SUM), Unfinished::new(&SUM));
        assert!(one.take(8));
        assert_eq!(beyond(), 0);
        assert!(one.take(8) && one.take(4));
        assert_eq!(beyond(), 10);
        // All that is left, and then only what is free.
        assert!(other.take(MOST) && !one.take(1));
        assert_eq!(beyond(), MOST);
        one.give_back(16);
        assert_eq!(beyond(), MOST - 10);
        assert!(one.take(6) && one.take(10) && !one.take(1));
        other.clear();
        assert_eq!(beyond(), 10);
        drop(one);
        assert_eq!(beyond(), 0);
    }
}
