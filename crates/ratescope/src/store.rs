//! The memory of keys: which are remembered, and which are evicted.
//!
//! A [`Keyed`] decides one limiter for many keys. A [`MemoryStore`](crate::MemoryStore) decides a
//! [policy](crate::policy) or [rules](crate::rules), and has such a memory for each limit. Threads can share both: every
//! method takes `&self`.
//!
//! # What is evicted
//! When there is no room for a new key, a key that was not used for long is evicted. No key expires by age, for the
//! reason given in John Berryman's article on EARRRL: with a time to live a limiter forgets past offences. Without one,
//! a sender that goes on offending uses its key, so the key stays; a key that was not used for long has little to
//! forget.
//!
//! There is one exception: a key that is *being refused* is not evicted before a key that is not. Otherwise a refused
//! sender could wait until enough others have passed, or send under enough other names. A key is being refused when one
//! of its events was refused, and, for the most expensive refused event:
//!
//! * the same event, sent now, would be refused again;
//! * it would pass if the key were new: otherwise nobody could send the event, and evicting the key would not let it
//!   pass;
//! * no event that costs as much has passed since. A cheaper event, also one of cost 0, does not end
//!   the protection, whether it passes or not.
//!
//! These conditions are checked only when something must be evicted, at the time of the event
//! that needs the room. So a refusal protects a key exactly as long as the refusal lasts.
//!
//! If the clock was set back meanwhile, the state lies in the future, and the event would be refused until the clock
//! has caught up. If the clock is further back than the state takes to [reset](crate::Limiter::reset_after), which is about a
//! period, the state follows the clock at the first check, as it would with an event of the key: see
//! [limiters](crate::limit#when-time-runs-backwards). If it is less far back, the state stays: threads hand in their
//! events slightly out of order, which must free nobody.
//!
//! A key takes no room while its state is still that of a new key: its only event was refused by another limit, or
//! could never pass. So a sender that is refused by its address cannot evict users by inventing names.
//!
//! The exception has a price: if all keys are being refused, there is no room to remember others.
//! Choose a capacity larger than the number of senders that may be refused at once.
//!
//! # How, and why so
//! Keys lie in *sets* of eight, as in a processor's cache. The hash of a key chooses two sets, and a new key replaces
//! one of their sixteen entries. This entry is nearly the least recently used of all, at a fraction of the cost. An
//! exact order of use needs links that change with each event, in three places of memory, by one thread at a time. A
//! set is one place, in which threads rarely meet. Sets are bounded by construction, and no key is allocated.
//!
//! A key has two sets, since keys do not spread evenly. With as many keys as places, one set for
//! each key would lose 14 % of the keys to sets that are full while others are not; two sets lose
//! 1.6 %. A store has an eighth more room than was asked for, and then loses less than 0.1 %.
//! `./scripts/bench limiters` prints the loss beside the time.
//!
//! The exception also holds if all sixteen entries are being refused: one of them moves to its other set, and replaces
//! an entry that is not being refused. This fails only if all entries of the other sets are being refused, too. If a
//! share f of all keys is being refused, it fails once in f⁻¹⁴⁴ times: never at a half, 1 in 4 million at 90 %, and 1
//! in 1,600 at 95 %.
//!
//! **Keys are not kept.** A 64-bit hash stands for the key: SipHash-1-3 with a secret of the process
//! ([on wasm32](Secret#on-wasm32), of words that the host gives).
//! Senders often choose their keys; without the secret nobody can choose two keys with one hash. The
//! chance that any two of n keys share a hash is n(n-1)/2 pairs times 2⁻⁶⁴, about n²/2⁶⁵: 1 in 37
//! million for a million keys. Two such keys are limited as one. The hash takes a fifth of the time
//! of a decision; if no sender can choose its key, [another hash](Keyed::with_hasher) will do.
//!
//! **Memory** grows with the number of keys, in steps of a quarter. An entry is its hash, 8 bytes for
//! use and refusal, the state, and a byte of tag: 33 bytes with a state of 16. Tables are 68 to 100 %
//! full, so a key takes 33 to 49 bytes. Tables are freed only with the store.
//!
//! Logs and windows take memory of their own for each event or block that they count. Every eighth event frees such
//! memory of one other key of its shard, in turn. So after eight events for each key of a shard, no key there that has
//! been silent for a period takes any. Events of many keys reach all shards; events of one key free nothing in the
//! others. [`Keyed::forget`] frees all of it at once.
//!
//! **Shards.** A store of many keys is cut into up to 32 tables, each behind its own lock. An event
//! takes one lock for each limit. Each limit has its own tables, and all threads lock in the order in which
//! the limits were made, so they cannot deadlock.

mod held;
#[cfg(all(test, feature = "rules"))]
mod interleavings;
mod keyed;
#[cfg(feature = "rules")]
mod keyed_limit;
#[cfg(feature = "rules")]
mod locked;
pub mod saved;
mod secret;
mod sync;
mod table;
mod tags;

pub use keyed::Keyed;
#[cfg(feature = "rules")]
pub(crate) use keyed_limit::{KeyedLimit, Numbered, State};
#[cfg(feature = "rules")]
pub(crate) use locked::{Key, Locked};
pub use saved::SavedError;
pub use secret::Secret;

#[cfg(feature = "rules")]
use smallvec::SmallVec;

/// A list that usually has up to four items, and then needs no allocation.
#[cfg(feature = "rules")]
pub(crate) type Few<T> = SmallVec<[T; 4]>;
