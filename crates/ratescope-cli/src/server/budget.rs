//! Bounds the bytes of incomplete requests, over all connections together.
//!
//! Each connection has a free allowance. Bytes beyond it count towards a budget that all connections share; a
//! connection that would exceed the budget loses its request. So many strangers with long requests take nothing from
//! clients with usual requests, which fit into the allowance.

use std::io::{self, ErrorKind};
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, ReadBuf};

/// The size of a budget in bytes.
const SIZE: usize = 64 << 20;

/// The budget of all connections of a kind.
#[derive(Debug)]
pub(crate) struct Budget {
    /// The bytes that each connection may hold without counting.
    allowance: usize,
    /// The bytes that all connections hold beyond their allowances.
    used: AtomicUsize,
}

pub(super) static HTTP: Budget = Budget::new(4 << 10);

impl Budget {
    pub(crate) const fn new(allowance: usize) -> Self {
        Budget { allowance, used: AtomicUsize::new(0) }
    }

    /// The part of a connection's bytes beyond the allowance.
    fn counted(&self, bytes: usize) -> usize {
        bytes.saturating_sub(self.allowance)
    }
}

/// The bytes that one connection has reserved.
#[derive(Debug)]
pub(crate) struct Reservation {
    budget: &'static Budget,
    bytes: AtomicUsize,
}

impl Reservation {
    pub(crate) fn new(budget: &'static Budget) -> Arc<Self> {
        Arc::new(Reservation { budget, bytes: AtomicUsize::new(0) })
    }

    /// Reserves so many bytes more. Returns `false`, and reserves nothing, if they exceed the budget.
    pub(crate) fn reserve(&self, bytes: usize) -> bool {
        let before = self.bytes.fetch_add(bytes, Ordering::Relaxed);
        let more = self.budget.counted(before + bytes) - self.budget.counted(before);
        let fits = more == 0 || self.budget.used.fetch_add(more, Ordering::Relaxed) + more <= SIZE;
        if !fits {
            self.release(bytes);
        }
        fits
    }

    pub(crate) fn release(&self, bytes: usize) {
        let before = self.bytes.fetch_sub(bytes, Ordering::Relaxed);
        let less = self.budget.counted(before) - self.budget.counted(before - bytes);
        self.budget.used.fetch_sub(less, Ordering::Relaxed);
    }

    pub(super) fn release_all(&self) {
        let before = self.bytes.swap(0, Ordering::Relaxed);
        self.budget.used.fetch_sub(self.budget.counted(before), Ordering::Relaxed);
    }
}

impl Drop for Reservation {
    fn drop(&mut self) {
        self.release_all();
    }
}

/// A reader that reserves the bytes that it reads. The server releases them when the request is answered, together with
/// the bytes of the next request, which are at most the allowance, since no more is read at once.
pub(crate) struct BudgetedReader<R> {
    pub(crate) reader: R,
    pub(crate) reservation: Arc<Reservation>,
}

impl<R: AsyncRead + Unpin> AsyncRead for BudgetedReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let most = buffer.remaining().min(self.reservation.budget.allowance);
        let mut part = ReadBuf::new(buffer.initialize_unfilled_to(most));
        ready!(Pin::new(&mut self.reader).poll_read(context, &mut part))?;
        let read = part.filled().len();
        if !self.reservation.reserve(read) {
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
    fn the_allowance_is_not_counted_and_all_is_released() {
        static BUDGET: Budget = Budget::new(10);
        let used = || BUDGET.used.load(Ordering::Relaxed);
        let one = Reservation::new(&BUDGET);
        let other = Reservation::new(&BUDGET);
        assert!(one.reserve(8));
        assert_eq!(used(), 0);
        assert!(one.reserve(8) && one.reserve(4));
        assert_eq!(used(), 10);
        // All of the rest, and then only the allowance.
        assert!(other.reserve(SIZE) && !one.reserve(1));
        assert_eq!(used(), SIZE);
        one.release(16);
        assert_eq!(used(), SIZE - 10);
        assert!(one.reserve(6) && one.reserve(10) && !one.reserve(1));
        other.release_all();
        assert_eq!(used(), 10);
        drop(one);
        assert_eq!(used(), 0);
    }
}
