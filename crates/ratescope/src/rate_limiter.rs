//! A limiter with its states and a clock.

use crate::clock::{Clock, MonotonicClock, block_on, duration};
use crate::limit::Limiter;
use crate::limit::kept::Keeps;
use crate::limit::per_key::PerKey;
use crate::outcome::Outcome;
use crate::store::{Keyed, Secret};
use crate::text::BadNumber;
use crate::time::Time;
use crate::waiting::{Blocked, Lines, NotAllowed, Waiting, until_in_line};
use core::borrow::Borrow;
use core::fmt;
use core::future::ready;
use core::hash::{BuildHasher, Hash};
use core::marker::PhantomData;
use core::time::Duration;
use std::sync::Arc;

/// A [limiter](Limiter), its states, and a clock: for one key ([`direct`](Self::direct)) or for many
/// ([`keyed`](Self::keyed)).
///
/// ```
/// use ratescope::RateLimiter;
/// use ratescope::limit::gcra::Gcra;
///
/// // Ten a second for each user, up to twenty at once. 100,000 users are remembered.
/// let users = RateLimiter::<String, _>::keyed(Gcra::per_second(10).with_burst(20), 100_000);
/// let checked = users.check_key("ann");
/// if !checked.is_allowed() {
///     println!("try again in {:?}", checked.retry_after());
/// }
/// assert_eq!(checked.remaining().floor(), 19.0);
/// ```
///
/// A key is of one type, `K`, or borrowed from it, as `str` from `String`, so that a number and its text, or an address
/// with and without its port, are not taken for one another:
///
/// ```compile_fail
/// # use ratescope::{RateLimiter, limit::gcra::Gcra};
/// let users = RateLimiter::<String, _>::keyed(Gcra::per_second(10), 100_000);
/// let checked = users.check_key(&7); // An error: a key here is a text.
/// ```
///
/// It is neither kept nor copied. [The store](crate::store) says which keys are evicted when there is no room. Below is
/// a store whose keys are of any type: [`states`](Self::states).
///
/// Threads share it by reference, and a clone has the same states. For times from elsewhere, such as a log, ask the
/// [states](Self::states), or set a [`FakeClock`](crate::clock::FakeClock).
pub struct RateLimiter<K: ?Sized, L: Limiter, C = MonotonicClock, H = Secret> {
    states: Keyed<L, H>,
    clock: C,
    lines: Arc<Lines>,
    keys: PhantomData<fn(&K)>,
}

/// A [`RateLimiter`] for one key.
pub type DirectRateLimiter<L, C = MonotonicClock> = RateLimiter<(), L, C, Direct>;

/// The hash of a [`DirectRateLimiter`], which has one key.
#[derive(Clone, Copy, Debug)]
#[doc(hidden)]
pub struct Direct;

/// The hash of the only key.
const ONE: u64 = 0;

impl<L: Limiter> RateLimiter<(), L, MonotonicClock, Direct>
where
    L::State: PartialEq,
{
    /// Limits one thing, such as all calls of a program.
    ///
    /// ```
    /// use ratescope::RateLimiter;
    /// use ratescope::limit::gcra::Gcra;
    ///
    /// let calls = RateLimiter::direct(Gcra::per_second(10));
    /// assert!(calls.check().is_allowed());
    /// ```
    pub fn direct(limiter: L) -> Self {
        RateLimiter::new(Keyed::with_hasher(limiter, 1, Direct), MonotonicClock)
    }
}

impl<K: ?Sized, L: Limiter> RateLimiter<K, L>
where
    L::State: PartialEq,
{
    /// Limits each key apart, and remembers `capacity` keys, or an eighth more, and at least eight: see
    /// [`Keyed::capacity`].
    pub fn keyed(limiter: L, capacity: usize) -> Self {
        RateLimiter::new(Keyed::new(limiter, capacity), MonotonicClock)
    }
}

impl<L: Limiter, C: Clock> RateLimiter<(), L, C, Direct>
where
    L::State: PartialEq,
{
    /// Decides about an event of cost 1, and counts it.
    #[inline]
    pub fn check(&self) -> Checked<'_, L, C, Direct> {
        self.check_hash(ONE, 1.0)
    }

    /// Decides about an event of any cost, such as a number of bytes (`bytes.len() as f64`), and counts it.
    #[inline]
    pub fn check_n(&self, cost: impl Into<f64>) -> Checked<'_, L, C, Direct> {
        self.check_hash(ONE, cost.into())
    }

    /// Answers as [`check`](Self::check) would, and counts nothing.
    pub fn peek(&self) -> Checked<'_, L, C, Direct> {
        self.peek_hash(ONE)
    }

    /// Counts a cost that is known only after the event was allowed: see [`Limiter::charge`].
    ///
    /// # Errors
    /// When the cost is negative or not a number. Nothing is counted then.
    pub fn charge(&self, cost: impl Into<f64>) -> Result<(), BadNumber> {
        // Before the lock, under which neither the clock nor a conversion of the caller's may run.
        let (now, cost) = (self.clock.now(), cost.into());
        self.states.hold(ONE).charge(self.limiter(), now, cost)
    }

    /// Forgets all counted events.
    pub fn reset(&self) {
        self.states.hold(ONE).reset();
    }

    /// Waits until an event is allowed, and counts it then: see [waiting](crate::waiting).
    ///
    /// # Errors
    /// When the limiter never allows an event of cost 1.
    pub async fn until_ready(&self) -> Result<(), NotAllowed> {
        self.until(ONE, Waiting::DEFAULT).await
    }

    /// Waits with a cost, a longest wait or a jitter.
    ///
    /// # Errors
    /// When the event would have to wait for too long, or for ever. Nothing is counted then.
    #[doc(alias = "until_n_ready")]
    #[doc(alias = "until_ready_with_jitter")]
    pub async fn until_ready_with(&self, waiting: Waiting) -> Result<(), NotAllowed> {
        self.until(ONE, waiting).await
    }

    /// Blocks the thread until an event is allowed, and counts it then.
    ///
    /// # Errors
    /// As for [`until_ready`](Self::until_ready).
    pub fn block_until_ready(&self) -> Result<(), NotAllowed> {
        block_on(self.until(ONE, Waiting::DEFAULT))
    }

    /// Blocks the thread, with a cost, a longest wait or a jitter.
    ///
    /// # Errors
    /// As for [`until_ready_with`](Self::until_ready_with).
    pub fn block_until_ready_with(&self, waiting: Waiting) -> Result<(), NotAllowed> {
        block_on(self.until(ONE, waiting))
    }
}

impl<K: ?Sized, L: Limiter, C: Clock, H: BuildHasher> RateLimiter<K, L, C, H>
where
    L::State: PartialEq,
{
    /// Decides about an event of `key` of cost 1, and counts it.
    #[inline]
    pub fn check_key<Q: Hash + ?Sized>(&self, key: &Q) -> Checked<'_, L, C, H>
    where
        K: Borrow<Q>,
    {
        self.check_hash(self.states.hash(key), 1.0)
    }

    /// Decides about an event of `key` of any cost, such as a number of bytes (`bytes.len() as f64`), and counts it.
    #[inline]
    pub fn check_key_n<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        cost: impl Into<f64>,
    ) -> Checked<'_, L, C, H>
    where
        K: Borrow<Q>,
    {
        self.check_hash(self.states.hash(key), cost.into())
    }

    /// Answers as [`check_key`](Self::check_key) would. Nothing is counted, and the key does not count as used.
    pub fn peek_key<Q: Hash + ?Sized>(&self, key: &Q) -> Checked<'_, L, C, H>
    where
        K: Borrow<Q>,
    {
        self.peek_hash(self.states.hash(key))
    }

    /// Counts a cost of `key` that is known only after the event was allowed: see [`Limiter::charge`].
    ///
    /// # Errors
    /// When the cost is negative or not a number. Nothing is counted then.
    pub fn charge_key<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        cost: impl Into<f64>,
    ) -> Result<(), BadNumber>
    where
        K: Borrow<Q>,
    {
        let (now, cost) = (self.clock.now(), cost.into());
        self.states.charge(key, now, cost)
    }

    /// Forgets the events of `key`.
    pub fn reset_key<Q: Hash + ?Sized>(&self, key: &Q)
    where
        K: Borrow<Q>,
    {
        self.states.reset(key);
    }

    /// Waits until an event of `key` is allowed, and counts it then: see [waiting](crate::waiting).
    ///
    /// # Errors
    /// When the limiter never allows an event of cost 1.
    pub async fn until_key_ready<Q: Hash + ?Sized>(&self, key: &Q) -> Result<(), NotAllowed>
    where
        K: Borrow<Q>,
    {
        self.until(self.states.hash(key), Waiting::DEFAULT).await
    }

    /// Waits with a cost, a longest wait or a jitter.
    ///
    /// # Errors
    /// When the event would have to wait for too long, or for ever. Nothing is counted then.
    #[doc(alias = "until_key_n_ready")]
    #[doc(alias = "until_key_ready_with_jitter")]
    pub async fn until_key_ready_with<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        waiting: Waiting,
    ) -> Result<(), NotAllowed>
    where
        K: Borrow<Q>,
    {
        self.until(self.states.hash(key), waiting).await
    }

    /// Blocks the thread until an event of `key` is allowed, and counts it then.
    ///
    /// # Errors
    /// As for [`until_key_ready`](Self::until_key_ready).
    pub fn block_until_key_ready<Q: Hash + ?Sized>(&self, key: &Q) -> Result<(), NotAllowed>
    where
        K: Borrow<Q>,
    {
        block_on(self.until(self.states.hash(key), Waiting::DEFAULT))
    }

    /// Blocks the thread, with a cost, a longest wait or a jitter.
    ///
    /// # Errors
    /// As for [`until_key_ready_with`](Self::until_key_ready_with).
    pub fn block_until_key_ready_with<Q: Hash + ?Sized>(
        &self,
        key: &Q,
        waiting: Waiting,
    ) -> Result<(), NotAllowed>
    where
        K: Borrow<Q>,
    {
        block_on(self.until(self.states.hash(key), waiting))
    }
}

/// Limits that come with the events, such as those of customers: see [`per_key`](crate::limit::per_key).
impl<K: ?Sized, L, C: Clock, H: BuildHasher> RateLimiter<K, PerKey<L>, C, H>
where
    L: Keeps<State: PartialEq> + Clone + PartialEq + fmt::Debug,
{
    /// Decides by `own` about an event of `key` of cost 1, and counts it. Events that another limiter counted stay
    /// counted.
    ///
    /// The numbers belong to the key: give the same ones with each event until they change.
    /// [`per_key`](crate::limit::per_key) says what events with numbers in turn can gain. Calls without numbers are
    /// decided by the usual limiter.
    pub fn check_key_with<Q: Hash + ?Sized>(
        &self,
        own: impl Into<Arc<L>>,
        key: &Q,
    ) -> Checked<'_, PerKey<L>, C, H>
    where
        K: Borrow<Q>,
    {
        self.check_key_n_with(own, key, 1.0)
    }

    /// Decides by `own` about an event of `key` of any cost, and counts it.
    pub fn check_key_n_with<Q: Hash + ?Sized>(
        &self,
        own: impl Into<Arc<L>>,
        key: &Q,
        cost: impl Into<f64>,
    ) -> Checked<'_, PerKey<L>, C, H>
    where
        K: Borrow<Q>,
    {
        let hash = self.states.hash(key);
        let now = self.clock.now();
        let cost = cost.into();
        let own = Box::new(self.limiter().with(own.into()));
        let outcome = self.states.hold(hash).check(&*own, now, cost);
        Checked { own: Some(own), ..self.checked(hash, now, cost, outcome) }
    }
}

impl<K: ?Sized, L: Limiter, C, H> RateLimiter<K, L, C, H>
where
    L::State: PartialEq,
{
    /// Limits each key of these states, by this clock.
    pub fn new(states: Keyed<L, H>, clock: C) -> Self {
        RateLimiter { states, clock, lines: Arc::default(), keys: PhantomData }
    }

    /// Replaces the clock, for example by the [`SystemClock`](crate::clock::SystemClock) or, in tests, a
    /// [`FakeClock`](crate::clock::FakeClock).
    pub fn with_clock<D: Clock>(self, clock: D) -> RateLimiter<K, L, D, H> {
        RateLimiter { states: self.states, clock, lines: self.lines, keys: PhantomData }
    }

    /// The limiter.
    pub fn limiter(&self) -> &L {
        self.states.limiter()
    }

    /// The clock.
    pub fn clock(&self) -> &C {
        &self.clock
    }

    /// The states of the keys, whose methods take the time as an argument.
    pub fn states(&self) -> &Keyed<L, H> {
        &self.states
    }
}

impl<K: ?Sized, L: Limiter, C: Clock, H> RateLimiter<K, L, C, H>
where
    L::State: PartialEq,
{
    #[inline(always)]
    fn check_hash(&self, hash: u64, cost: f64) -> Checked<'_, L, C, H> {
        let now = self.clock.now();
        let outcome = self.states.hold(hash).check(self.limiter(), now, cost);
        self.checked(hash, now, cost, outcome)
    }

    /// The check of an event that the usual limiter has decided, and counted if it passes.
    #[inline(always)]
    fn checked(&self, hash: u64, now: Time, cost: f64, outcome: Outcome) -> Checked<'_, L, C, H> {
        let (states, clock, is_counted) = (&self.states, &self.clock, outcome.is_allowed());
        Checked { states, clock, own: None, hash, now, cost, outcome, is_counted }
    }

    fn peek_hash(&self, hash: u64) -> Checked<'_, L, C, H> {
        let now = self.clock.now();
        let cost = 1.0;
        let outcome = self.limiter().peek(self.states.hold(hash).state(), now, cost);
        Checked { is_counted: false, ..self.checked(hash, now, cost, outcome) }
    }

    async fn until(&self, hash: u64, waiting: Waiting) -> Result<(), NotAllowed> {
        let (states, cost) = (&self.states, waiting.cost);
        let look = || {
            let now = self.clock.now();
            ready(self.limiter().retry_after(states.hold(hash).state(), now, cost))
        };
        until_in_line((&self.lines, hash), &self.clock, waiting, look, |most| {
            let passed = states.pass_by_hash(hash, self.clock.now(), cost, most);
            ready(passed.map(|outcome| ((), outcome.wait)).map_err(Blocked::from))
        })
        .await
    }
}

/// The states are shared.
impl<K: ?Sized, L: Limiter + Clone, C: Clone, H: Clone> Clone for RateLimiter<K, L, C, H> {
    fn clone(&self) -> Self {
        RateLimiter {
            states: self.states.clone(),
            clock: self.clock.clone(),
            lines: Arc::clone(&self.lines),
            keys: PhantomData,
        }
    }
}

impl<K: ?Sized, L: Limiter + fmt::Debug, C: fmt::Debug, H> fmt::Debug for RateLimiter<K, L, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("RateLimiter");
        out.field("states", &self.states).field("clock", &self.clock).finish_non_exhaustive()
    }
}

/// The outcome of an event, and more about its key, which is computed when it is asked for, and then includes events
/// that were counted meanwhile.
#[must_use = "an event may pass only if it was allowed"]
pub struct Checked<'a, L: Limiter, C = MonotonicClock, H = Secret> {
    states: &'a Keyed<L, H>,
    clock: &'a C,
    /// The limiter that decided, if the event had numbers of its own.
    own: Option<Box<L>>,
    hash: u64,
    now: Time,
    cost: f64,
    outcome: Outcome,
    is_counted: bool,
}

impl<L: Limiter, C, H> Checked<'_, L, C, H>
where
    L::State: PartialEq,
{
    /// True if the event may pass.
    #[doc(alias = "is_ok")]
    #[inline]
    pub fn is_allowed(&self) -> bool {
        self.outcome.is_allowed()
    }

    /// This check of an event that may pass, or the reason why it may not, as an error:
    ///
    /// ```
    /// use ratescope::RateLimiter;
    /// use ratescope::limit::gcra::Gcra;
    /// use ratescope::waiting::NotAllowed;
    /// use std::time::Duration;
    ///
    /// fn call(limiter: &RateLimiter<str, Gcra>) -> Result<f64, NotAllowed> {
    ///     let checked = limiter.check_key("ann").allowed()?;
    ///     Ok(checked.remaining())
    /// }
    ///
    /// let limiter = RateLimiter::keyed(Gcra::per_hour(1), 1000);
    /// assert!(call(&limiter).is_ok());
    /// let wait = call(&limiter).unwrap_err().retry_after();
    /// assert!(wait.is_some_and(|wait| wait > Duration::from_secs(3500)));
    /// ```
    ///
    /// # Errors
    /// When the event is refused: [`Refused`](NotAllowed::Refused), or [`Never`](NotAllowed::Never).
    pub fn allowed(self) -> Result<Self, NotAllowed> {
        match self.retry_after() {
            _ if self.is_allowed() => Ok(self),
            Some(after) => Err(NotAllowed::Refused { after }),
            None => Err(NotAllowed::Never),
        }
    }

    /// The outcome of the limiter, with its numbers.
    pub fn outcome(&self) -> Outcome {
        self.outcome
    }

    /// How long an allowed event waits in the queue; zero without a queue, or if it was refused.
    pub fn wait(&self) -> Duration {
        duration(self.outcome.wait.unwrap_or_default())
    }

    /// How long after this check the event would pass; zero if it was allowed, and `None` if it never passes.
    #[doc(alias = "wait_time_from")]
    pub fn retry_after(&self) -> Option<Duration> {
        if self.is_allowed() {
            return Some(Duration::ZERO);
        }
        let held = self.states.hold(self.hash);
        let retry = self.limiter().retry_after(held.state(), self.now, self.cost);
        retry.wait().map(duration)
    }

    /// How much may still be counted: see [`Limiter::remaining`].
    #[doc(alias = "remaining_burst_capacity")]
    pub fn remaining(&self) -> f64 {
        self.limiter().remaining(self.states.hold(self.hash).state(), self.now)
    }

    /// How long until the key is as good as new: see [`Limiter::reset_after`].
    pub fn reset_after(&self) -> Duration {
        duration(self.limiter().reset_after(self.states.hold(self.hash).state(), self.now))
    }

    fn limiter(&self) -> &L {
        self.own.as_deref().unwrap_or(self.states.limiter())
    }
}

impl<L: Limiter, C: Clock, H> Checked<'_, L, C, H>
where
    L::State: PartialEq,
{
    /// Takes back an event that was counted, such as a call that failed, as far as it certainly still counts. Returns
    /// whether the limiter can undo: see [`Limiter::undo`].
    ///
    /// A cost that is known only afterwards is counted at its highest possible value first, and then corrected:
    ///
    /// ```
    /// use ratescope::RateLimiter;
    /// use ratescope::limit::token_bucket::TokenBucket;
    ///
    /// let tokens = RateLimiter::<str, _>::keyed(TokenBucket::per_hour(1000), 100_000);
    /// let reserved = tokens.check_key_n("ann", 600);
    /// assert!(reserved.is_allowed());
    /// // The answer took 200.
    /// if reserved.undo() {
    ///     tokens.charge_key("ann", 200)?;
    /// }
    /// assert_eq!(tokens.peek_key("ann").remaining().floor(), 800.0);
    /// # Ok::<(), ratescope::BadNumber>(())
    /// ```
    pub fn undo(self) -> bool {
        let now = self.clock.now();
        self.is_counted
            && self.states.hold(self.hash).undo(self.limiter(), self.now, now, self.cost)
    }
}

/// As in `refused: level 10.4, limit 10`.
impl<L: Limiter, C, H> fmt::Display for Checked<'_, L, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.outcome.fmt(f)
    }
}

impl<L: Limiter, C, H> fmt::Debug for Checked<'_, L, C, H> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Checked { now, cost, outcome, .. } = self;
        let mut out = f.debug_struct("Checked");
        out.field("outcome", outcome).field("now", now).field("cost", cost).finish_non_exhaustive()
    }
}
