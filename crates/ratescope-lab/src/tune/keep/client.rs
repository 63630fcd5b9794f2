//! One client: its newest events in a fixed place, older events in a list of bytes.

use super::clients::Room;
use super::stream::Moments;

/// The bytes of new events in an entry.
const WAITING: usize = 18;

/// The least by which the memory for older events grows, in bytes.
const LEAST: usize = 32;

/// A client. On a machine of 64 bits it takes 56 bytes.
#[derive(Clone, Debug)]
pub(super) struct Client {
    /// The time of the newest event, in microseconds.
    pub(super) last: i64,
    /// The bytes of the older events.
    events: Vec<u8>,
    /// The number of its events.
    pub(super) requests: u32,
    /// The number of halvings that it survived by chance. It represents 2^`halvings` clients.
    pub(super) halvings: u8,
    waits: u8,
    waiting: [u8; WAITING],
}

impl Client {
    pub(super) fn new(halvings: u8) -> Self {
        Client {
            last: i64::MIN,
            events: Vec::new(),
            requests: 0,
            halvings,
            waits: 0,
            waiting: [0; WAITING],
        }
    }

    /// Drops the events.
    pub(super) fn clear(&mut self) {
        self.events.clear();
        self.requests = 0;
        self.waits = 0;
        self.last = i64::MIN;
    }

    /// The events, in order, with the numbers of their labels where these are kept.
    pub(super) fn moments(&self, labelled: bool) -> Moments<'_> {
        let waiting = self.waiting.get(..self.waits as usize).unwrap_or(&[]);
        Moments::new([&self.events, waiting], labelled)
    }

    /// The bytes of the client besides its entry and its key.
    pub(super) fn outside(&self) -> usize {
        self.events.capacity()
    }

    /// Tells whether its events take a quarter of the room; it then gets no more events.
    pub(super) fn fills(&self, room: Room) -> bool {
        self.events.len() > room.bytes / 4
    }

    /// Adds the bytes of an event. Returns whether bytes left the entry, which may take memory; `outside`,
    /// the sum of all clients' [`outside`](Self::outside), is then updated.
    #[inline]
    pub(super) fn write(&mut self, bytes: &[u8], outside: &mut usize) -> bool {
        let waits = self.waits as usize;
        if let Some(free) = self.waiting.get_mut(waits..waits + bytes.len()) {
            free.copy_from_slice(bytes);
            self.waits += bytes.len() as u8;
            return false;
        }
        *outside -= self.events.capacity();
        let more = waits + bytes.len();
        if self.events.capacity() - self.events.len() < more {
            // Grows by a quarter, which wastes less than doubling.
            self.events.reserve_exact(more.max(LEAST) + self.events.len() / 4);
        }
        // Copies all bytes, since a copy of known length is faster, and then cuts the excess.
        let len = self.events.len() + waits;
        self.events.extend_from_slice(&self.waiting);
        self.events.truncate(len);
        self.waits = 0;
        match self.waiting.get_mut(..bytes.len()) {
            Some(free) => {
                free.copy_from_slice(bytes);
                self.waits = bytes.len() as u8;
            }
            None => self.events.extend_from_slice(bytes),
        }
        *outside += self.events.capacity();
        true
    }
}

const _: () = assert!(size_of::<Client>() <= 56);
