//! Logs that come in pieces, as in a page: read, and put to their clients.

use super::{Batch, Queue, ReadOptions, Times};
use crate::event::Event;
use crate::lab::tune::{Room, Summary};
use crate::log::{Counts, Reader, recognize};
use crate::policy::Per;
use core::error::Error;

/// Logs on their way in, one after the other. What a log is, its first pieces tell; then nothing of
/// it is held but its clients and the events that wait for those before them.
#[derive(Debug)]
pub struct Import {
    reading: ReadOptions,
    room: Room,
    /// What is not recognized yet.
    head: Vec<u8>,
    open: Option<Open>,
    /// The logs that have ended.
    sum: Option<Summary>,
    counts: Counts,
    shapes: Vec<String>,
    times: Times,
}

/// A log that is being read.
#[derive(Debug)]
struct Open {
    reader: Reader,
    batch: Batch,
    queue: Queue,
    into: Summary,
}

impl Import {
    /// Keeps as much of logs as there is room for.
    pub fn new(reading: ReadOptions, room: Room) -> Self {
        Import {
            reading,
            room,
            head: Vec::new(),
            open: None,
            sum: None,
            counts: Counts::default(),
            shapes: Vec::new(),
            times: Times::default(),
        }
    }

    /// The next piece of a log.
    ///
    /// # Errors
    /// When it is no log that is known, or has no such field as the key is made of. Then the log is
    /// given up; those before it stay.
    pub fn feed(&mut self, piece: &[u8]) -> Result<(), Box<dyn Error>> {
        if let Some(open) = &mut self.open {
            return open.feed(piece);
        }
        if self.head.is_empty() {
            return self.begin(piece, false);
        }
        let mut head = core::mem::take(&mut self.head);
        head.extend_from_slice(piece);
        self.begin(&head, false)
    }

    /// The log has ended, and another may begin.
    ///
    /// # Errors
    /// As for [`feed`](Self::feed), and when its clients are something else than those of the logs
    /// before it.
    pub fn end(&mut self) -> Result<(), Box<dyn Error>> {
        let head = core::mem::take(&mut self.head);
        if self.open.is_none() {
            self.begin(&head, true)?;
        }
        let Some(mut open) = self.open.take() else { return Ok(()) };
        open.finish()?;
        let Open { reader, queue, mut into, .. } = open;
        let counts = reader.counts();
        self.counts.add(counts);
        self.times.add(queue.times());
        (into.lines, into.unread) = (counts.lines, counts.unread);
        match &mut self.sum {
            Some(sum) => sum.add(&into)?,
            None => self.sum = Some(into),
        }
        Ok(())
    }

    /// How they are read.
    pub fn reading(&self) -> &ReadOptions {
        &self.reading
    }

    /// What became of the lines, of the logs that have ended and of the one that is read.
    pub fn counts(&self) -> Counts {
        let mut counts = self.counts.clone();
        if let Some(open) = &self.open {
            counts.add(open.reader.counts());
        }
        counts
    }

    /// What became of the times, in the logs that have ended.
    pub fn times(&self) -> Times {
        self.times
    }

    /// What the logs are, for a person.
    pub fn shapes(&self) -> &[String] {
        &self.shapes
    }

    /// All clients, of the logs that have ended; `None` if none has.
    pub fn finish(self) -> Option<Summary> {
        self.sum
    }

    /// Gives up the log that has begun.
    pub fn drop_log(&mut self) {
        (self.head, self.open) = (Vec::new(), None);
    }

    fn begin(&mut self, head: &[u8], complete: bool) -> Result<(), Box<dyn Error>> {
        let ReadOptions { options, key, spread } = &self.reading;
        let Some(shape) = recognize(head, complete, options)? else {
            self.head = head.to_vec();
            return Ok(());
        };
        let per = key.clone().unwrap_or_else(|| shape.usual_key());
        shape.check_key(&per)?;
        let mut open = Open {
            reader: Reader::new(&shape, options)?,
            batch: Batch::default(),
            queue: Queue::new(shape.usual_slack(*spread), *spread),
            into: Summary::new(per, self.room),
        };
        let about = shape.to_string();
        if !self.shapes.contains(&about) {
            self.shapes.push(about);
        }
        let fed = open.feed(head);
        self.open = Some(open);
        fed
    }
}

impl Open {
    fn feed(&mut self, piece: &[u8]) -> Result<(), Box<dyn Error>> {
        let Open { reader, batch, queue, into } = self;
        let read = reader.feed(piece, &mut |record| batch.add(record, &into.per, None));
        queue.take(batch, into, &mut nobody);
        Ok(read?)
    }

    fn finish(&mut self) -> Result<(), Box<dyn Error>> {
        let Open { reader, batch, queue, into } = self;
        let read = reader.finish(&mut |record| batch.add(record, &into.per, None));
        queue.take(batch, into, &mut nobody);
        queue.finish(into, &mut nobody);
        Ok(read?)
    }
}

/// Who sees events besides their clients.
fn nobody(_: &Event<'_>, _: &Per) {}
