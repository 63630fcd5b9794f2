//! The contestants for many keys: ten lines over a map, governor, and ours.

use crate::events::{self, Event};
use governor::clock::Clock;
use governor::middleware::NoOpMiddleware;
use governor::nanos::Nanos;
use governor::state::keyed::{DashMapStateStore, HashMapStateStore, KeyedStateStore};
use governor::{Quota, RateLimiter};
use ratescope::limit::exim::{Exim, Mode};
use ratescope::limit::gcra::Gcra;
use ratescope::limit::per_key::PerKey;
use ratescope::store::Keyed;
use ratescope::{Limiter, MemoryStore, Span, Time};
use std::cell::Cell;
use std::fmt::Display;
use std::hash::{BuildHasher, Hash};
use std::hint::black_box;
use std::num::NonZeroU32;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// Something that decides: of so many events, how many pass.
pub(crate) struct Contestant {
    pub(crate) name: String,
    pub(crate) decide: Decide,
    /// How many keys were forgotten, for stores that forget any.
    pub(crate) forgotten: Option<Box<dyn Fn() -> u64>>,
}

/// For one thread, or for any number.
pub(crate) enum Decide {
    Alone(Box<Alone>),
    Shared(Box<Shared>),
}

type Alone = dyn FnMut(&[Event]) -> usize;
type Shared = dyn Fn(&[Event]) -> usize + Send + Sync;

impl Contestant {
    fn alone(name: &str, mut passes: impl FnMut(&Event) -> bool + 'static) -> Self {
        let decide = move |events: &[Event]| events.iter().filter(|event| passes(event)).count();
        Contestant {
            name: name.to_owned(),
            decide: Decide::Alone(Box::new(decide)),
            forgotten: None,
        }
    }

    fn shared(name: &str, passes: impl Fn(&Event) -> bool + Send + Sync + 'static) -> Self {
        let decide = move |events: &[Event]| events.iter().filter(|event| passes(event)).count();
        Contestant {
            name: name.to_owned(),
            decide: Decide::Shared(Box::new(decide)),
            forgotten: None,
        }
    }

    fn forgets(self, forgotten: impl Fn() -> u64 + 'static) -> Self {
        Contestant { forgotten: Some(Box::new(forgotten)), ..self }
    }
}

/// Ten at once, and ten in a second.
const LIMIT: u32 = 10;

/// Exim's rate, strict: the whole of it.
#[inline(always)]
fn exim((rate, at): &mut (f64, i64), now: i64, limit: f64, period: f64) -> bool {
    let x = ((now - *at) as f64 / 1e6).max(1e-9) / period;
    let lost = -libm::expm1(-x);
    *rate = (lost / x + *rate * (1.0 - lost)).max(1.0);
    *at = now;
    *rate < limit
}

/// Exim's rate before the first event.
const QUIET: (f64, i64) = (0.0, i64::MIN / 2);

fn numbers() -> (f64, f64) {
    black_box((f64::from(LIMIT), 1.0))
}

pub(crate) fn ten_lines() -> Contestant {
    let (limit, period) = numbers();
    let mut map = hashbrown::HashMap::<u64, (f64, i64)>::new();
    Contestant::alone("ten lines of Exim over hashbrown", move |event| {
        let state = map.entry(event.key).or_insert(QUIET);
        exim(state, event.now.as_micros(), limit, period)
    })
}

pub(crate) fn ten_lines_std() -> Contestant {
    let (limit, period) = numbers();
    let mut map = std::collections::HashMap::<u64, (f64, i64)>::new();
    Contestant::alone("the same over std's HashMap", move |event| {
        let state = map.entry(event.key).or_insert(QUIET);
        exim(state, event.now.as_micros(), limit, period)
    })
}

/// A lock and a map, on cache lines of their own.
#[repr(align(128))]
#[derive(Default)]
struct Shard(Mutex<hashbrown::HashMap<u64, (f64, i64)>>);

pub(crate) fn ten_lines_shared() -> Contestant {
    let (limit, period) = numbers();
    let shards: Vec<Shard> = (0..64).map(|_| Shard::default()).collect();
    let hasher = hashbrown::DefaultHashBuilder::default();
    Contestant::shared("ten lines of Exim over 64 mutexes and hashbrown", move |event| {
        let shard = &shards[hasher.hash_one(event.key) as usize % 64];
        let mut map = shard.0.lock().unwrap();
        exim(map.entry(event.key).or_insert(QUIET), event.now.as_micros(), limit, period)
    })
}

fn our_exim() -> Exim {
    Exim { limit: format!("{LIMIT}/1s").parse().unwrap(), mode: Mode::Strict }
}

fn our_gcra() -> Gcra {
    Gcra::new(our_exim().limit, f64::from(LIMIT)).unwrap()
}

pub(crate) fn keyed_exim(capacity: usize) -> Contestant {
    keyed(our_exim(), capacity)
}

pub(crate) fn keyed_gcra(capacity: usize) -> Contestant {
    keyed(our_gcra(), capacity)
}

/// With the hash that hashbrown has.
pub(crate) fn trusting_exim(capacity: usize) -> Contestant {
    trusting(our_exim(), capacity)
}

pub(crate) fn trusting_gcra(capacity: usize) -> Contestant {
    trusting(our_gcra(), capacity)
}

fn keyed<L: Ours>(limiter: L, capacity: usize) -> Contestant {
    let name = format!("`Keyed`, `{limiter}`");
    by(&name, Keyed::new(limiter, capacity), |event| &event.key)
}

fn trusting<L: Ours>(limiter: L, capacity: usize) -> Contestant {
    let name = format!("`Keyed` with hashbrown's hasher, `{limiter}`");
    let hasher = hashbrown::DefaultHashBuilder::default();
    by(&name, Keyed::with_hasher(limiter, capacity, hasher), |event| &event.key)
}

/// A limiter of ours.
trait Ours: Limiter<State: PartialEq + Send + Sync> + Display + Send + Sync + 'static {}

impl<L: Limiter<State: PartialEq + Send + Sync> + Display + Send + Sync + 'static> Ours for L {}

fn by<L: Ours, H, K>(name: &str, keyed: Keyed<L, H>, key: fn(&Event) -> &K) -> Contestant
where
    H: BuildHasher + Send + Sync + 'static,
    K: Hash + ?Sized + 'static,
{
    let keyed = Arc::new(keyed);
    let same = keyed.clone();
    let passes = move |event: &Event| keyed.check(key(event), event.now, 1.0).is_allowed();
    Contestant::shared(name, passes).forgets(move || same.evicted())
}

/// The floor of a store: the same limiter over the same texts, and no field to find.
pub(crate) fn texts(capacity: usize) -> Contestant {
    let name = format!("`Keyed`, `{}`, keys of text", our_gcra());
    by(&name, Keyed::new(our_gcra(), capacity), |event| event.name)
}

/// The floor of a store of two limits. It counts in the first the events that the second refuses.
pub(crate) fn two_texts(capacity: usize) -> Contestant {
    let wide = Gcra::new("10000/1s".parse().unwrap(), 10_000.0).unwrap();
    let both = Arc::new([our_gcra(), wide].map(|gcra| Keyed::new(gcra, capacity)));
    let same = both.clone();
    let passes = move |event: &Event| {
        let passes = both[0].check(event.name, event.now, 1.0).is_allowed();
        passes && both[1].check(events::net(event.name), event.now, 1.0).is_allowed()
    };
    let forgotten = move || same.iter().map(Keyed::evicted).sum();
    Contestant::shared("two such `Keyed`, one after the other", passes).forgets(forgotten)
}

/// A policy for texts, as a service has them.
pub(crate) fn store(policy: &str, capacity: usize) -> Contestant {
    let name = format!("`MemoryStore`, `{policy}`");
    let store = Arc::new(MemoryStore::new(policy.parse::<ratescope::Policy>().unwrap(), capacity));
    let same = store.clone();
    let passes = move |event: &Event| {
        let fields = &[("user", event.name), ("ip", events::net(event.name))];
        store.check(&ratescope::Event { time: event.now, cost: 1.0, fields }).is_allowed()
    };
    Contestant::shared(&name, passes).forgets(move || same.evicted())
}

thread_local! {
    /// The time of the event that the thread is about.
    static NOW: Cell<u64> = const { Cell::new(0) };
}

/// A clock that says the time of the event.
#[derive(Clone, Debug, Default)]
struct Trace;

impl Clock for Trace {
    type Instant = Nanos;

    fn now(&self) -> Nanos {
        Nanos::new(NOW.get())
    }
}

impl ratescope::clock::Clock for Trace {
    fn now(&self) -> Time {
        Time::from_micros((NOW.get() / 1000).cast_signed())
    }

    async fn sleep(&self, _: Span) {}
}

/// `Keyed` with the clock that governor has here.
pub(crate) fn rate_limiter(capacity: usize) -> Contestant {
    let keyed = Keyed::new(our_gcra(), capacity);
    let limiter = ratescope::RateLimiter::<u64, _, _>::new(keyed.clone(), Trace);
    let name = format!("`RateLimiter`, `{}`", our_gcra());
    let passes = move |event: &Event| {
        NOW.set(event.now.as_micros().unsigned_abs() * 1000);
        limiter.check_key(&event.key).is_allowed()
    };
    Contestant::shared(&name, passes).forgets(move || keyed.evicted())
}

/// A limit that comes with the event: a hundred different ones.
pub(crate) fn own_limits(capacity: usize) -> Contestant {
    let keyed = Keyed::new(PerKey::new(our_gcra()), capacity);
    let limiter = ratescope::RateLimiter::<u64, _, _>::new(keyed.clone(), Trace);
    let limits: Vec<Arc<Gcra>> = (1..=100).map(|count| Arc::new(Gcra::per_second(count))).collect();
    let passes = move |event: &Event| {
        NOW.set(event.now.as_micros().unsigned_abs() * 1000);
        limiter
            .check_key_with(Arc::clone(&limits[event.key as usize % 100]), &event.key)
            .is_allowed()
    };
    let name = "`RateLimiter`, a hundred limits of users' own";
    Contestant::shared(name, passes).forgets(move || keyed.evicted())
}

type Governor<S> = RateLimiter<u64, S, Trace, NoOpMiddleware<Nanos>>;

fn governor<S>(name: &str, states: S) -> Contestant
where
    S: KeyedStateStore<u64> + Send + Sync + 'static,
{
    let quota = Quota::with_period(Duration::from_secs(1) / LIMIT).unwrap();
    let quota = quota.allow_burst(NonZeroU32::new(LIMIT).unwrap());
    NOW.set(0);
    let limiter: Governor<S> = RateLimiter::new(quota, states, Trace);
    Contestant::shared(name, move |event| {
        NOW.set(event.now.as_micros().unsigned_abs() * 1000);
        limiter.check_key(&event.key).is_ok()
    })
}

pub(crate) fn governor_dashmap() -> Contestant {
    governor("governor, DashMap", DashMapStateStore::<u64>::default())
}

pub(crate) fn governor_hashmap() -> Contestant {
    governor("governor, HashMap", HashMapStateStore::<u64>::new(Default::default()))
}
