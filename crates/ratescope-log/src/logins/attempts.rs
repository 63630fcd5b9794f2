//! Counts attempts to log in, since several messages may be about one.
//!
//! sshd writes a main message, `Failed`, about an attempt with a password, and before and after it other messages about
//! the connection: `Invalid user`, `Connection closed by authenticating user`. Without passwords it writes only the
//! others. Dovecot's main message has the number of attempts of a connection; if so configured, another message comes
//! for each. If the first lines have both kinds about most connections, only main messages count. `Accepted` is a main
//! message there: with LDAP, a module of PAM reports a failure of each user before the next module accepts it. In any
//! other log a connection of sshd counts once, at its first message, and a later main message counts only the rest.

use super::{Failure, Kind, Program, failure, sshd};
use crate::wrap::Envelope;
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};
use std::hash::{BuildHasherDefault, DefaultHasher, Hash, Hasher};

/// The programs whose other messages do not count, since main messages count the same attempts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct LeftOut {
    sshd: bool,
    dovecot: bool,
}

/// The connections of the first lines.
#[derive(Debug, Default)]
pub(super) struct Connections {
    /// For each connection, whether it has main messages, and whether others.
    seen: HashMap<u64, (Program, [bool; 2])>,
}

impl Connections {
    pub(super) fn add(&mut self, envelope: &Envelope<'_>, message: &str) {
        let Some(program) = Program::from_name(envelope.program) else { return };
        let (ip, is_main) = match failure(program, message) {
            Some(failure) => (failure.ip, failure.kind == Kind::Main),
            None if program == Program::Sshd => match sshd::success(message) {
                Some((_, ip)) => (ip, true),
                None => return,
            },
            None => return,
        };
        let connection = connection(program, *envelope, ip);
        let (_, kinds) = self.seen.entry(connection).or_insert((program, [false; 2]));
        kinds[usize::from(!is_main)] = true;
    }

    /// The programs with main messages about at least half of the connections with other messages.
    pub(super) fn left_out(&self) -> LeftOut {
        let most = |wanted: Program| {
            let others =
                self.seen.values().filter(|(program, kinds)| *program == wanted && kinds[1]);
            let (both, all) = others
                .fold((0, 0), |(both, all), (_, kinds)| (both + u32::from(kinds[0]), all + 1));
            2 * both >= all && both > 0
        };
        LeftOut { sshd: most(Program::Sshd), dovecot: most(Program::Dovecot) }
    }
}

impl LeftOut {
    fn has(self, program: Program) -> bool {
        match program {
            Program::Sshd => self.sshd,
            Program::Dovecot => self.dovecot,
            Program::Postfix | Program::Exim => false,
        }
    }
}

/// The connection of a message: for sshd its process, for Dovecot the client.
fn connection(program: Program, envelope: Envelope<'_>, ip: Option<&str>) -> u64 {
    let mut hasher = DefaultHasher::new();
    let pid = if program == Program::Sshd { envelope.pid } else { "" };
    (program, envelope.host, pid, ip).hash(&mut hasher);
    hasher.finish()
}

/// The most connections that are remembered.
const MOST: usize = 256;

/// Counts the attempts of messages.
#[derive(Debug, Default)]
pub(super) struct Attempts {
    left_out: LeftOut,
    /// The last connections that were counted, by hash.
    recent: HashMap<u64, Known, BuildHasherDefault<Hashed>>,
    /// Their hashes, the oldest first.
    order: VecDeque<u64>,
}

/// A hasher for numbers that are hashes already.
#[derive(Debug, Default)]
struct Hashed(u64);

impl Hasher for Hashed {
    fn write(&mut self, bytes: &[u8]) {
        bytes.iter().for_each(|byte| self.0 = self.0.rotate_left(8) ^ u64::from(*byte));
    }

    fn write_u64(&mut self, hash: u64) {
        self.0 = hash;
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

impl Attempts {
    pub(super) fn new(left_out: LeftOut) -> Self {
        Attempts { left_out, ..Attempts::default() }
    }

    /// The number of attempts that a message adds.
    pub(super) fn count(
        &mut self,
        program: Program,
        envelope: Envelope<'_>,
        failure: &Failure<'_>,
    ) -> u32 {
        if failure.kind != Kind::Main && self.left_out.has(program) {
            return 0;
        }
        let has_others =
            matches!(program, Program::Sshd | Program::Dovecot) && !self.left_out.has(program);
        // Without the number of its process, a connection of sshd can't be recognized again.
        if !has_others || program == Program::Sshd && envelope.pid.is_empty() {
            return failure.times;
        }
        let connection = connection(program, envelope, failure.ip);
        let known = self.known(connection);
        match failure.kind {
            Kind::Main => {
                // Later other messages of the connection do not count.
                known.kinds = u8::MAX;
                failure.times.saturating_sub(core::mem::take(&mut known.counted))
            }
            Kind::Each => {
                known.counted += 1;
                1
            }
            // A second message of one kind is about another attempt, or another connection.
            Kind::Other(kind) => {
                let is_new =
                    known.kinds == 0 || known.kinds != u8::MAX && known.kinds & 1 << kind != 0;
                known.kinds |= 1 << kind;
                if is_new {
                    known.kinds = 1 << kind;
                    known.counted = 1;
                }
                is_new.into()
            }
        }
    }

    /// The counts of a connection. A new connection replaces the oldest if there are too many.
    fn known(&mut self, connection: u64) -> &mut Known {
        if self.recent.len() == MOST && !self.recent.contains_key(&connection) {
            self.order.pop_front().map(|oldest| self.recent.remove(&oldest));
        }
        match self.recent.entry(connection) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => {
                self.order.push_back(connection);
                new.insert(Known::default())
            }
        }
    }
}

/// A connection that was counted.
#[derive(Clone, Copy, Debug, Default)]
struct Known {
    /// How many of its attempts other messages have counted.
    counted: u32,
    /// The kinds of its other messages so far, one bit each.
    kinds: u8,
}
