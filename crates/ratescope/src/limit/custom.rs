//! A limiter of your own, in a policy or in rules beside those of this crate.
//!
//! [`Limiter`] says which methods it needs. [`Custom`] makes an [`AnyLimiter`] of it:
//!
//! ```
//! # #[cfg(feature = "rules")] {
//! use ratescope::limit::custom::Custom;
//! use ratescope::limit::gcra::Gcra;
//! use ratescope::policy::Limit;
//! use ratescope::{Event, Limiter, MemoryStore, Outcome, Policy, Time};
//!
//! /// So many events at all, such as the messages of a trial account.
//! #[derive(Debug, PartialEq)]
//! struct Trial(f64);
//!
//! impl Limiter for Trial {
//!     type State = f64;
//!
//!     fn initial(&self) -> f64 {
//!         0.0
//!     }
//!
//!     fn peek(&self, used: &f64, _: Time, cost: f64) -> Outcome {
//!         Outcome::new(used + cost <= self.0, used + cost, self.0)
//!     }
//!
//!     fn record(&self, used: &mut f64, _: Time, cost: f64, allowed: bool) {
//!         if allowed {
//!             *used += cost;
//!         }
//!     }
//! }
//!
//! let trial = Limit::from(Custom::new(Trial(3.0))).by("user")?;
//! let often = Limit::from(Gcra::per_second(5)).by("ip")?;
//! let store = MemoryStore::new(Policy::new(vec![trial, often])?, 100_000);
//! let sends = |user| {
//!     let fields = &[("user", user), ("ip", "192.0.2.7")];
//!     store.check(&Event { time: Time::ZERO, cost: 1.0, fields }).is_allowed()
//! };
//! assert_eq!(["ann"; 4].map(sends), [true, true, true, false]);
//! // The fourth event of ann counted nothing for her address, which has room for two more.
//! assert_eq!(["bob"; 3].map(sends), [true, true, false]);
//! # }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`NewRule::limit`](crate::rules::NewRule::limit) takes one, too.
//!
//! # What it can't do
//! * **In files:** it has no text form. Where limits are shown it is `custom` and its `Debug`, as in `custom Trial(3.0)`.
//! * **On Redis:** nothing there computes it, so a store on Redis refuses the rules.
//! * **Over a restart:** its states are not saved. Those of the other limits of its rule are.
//! * **After a change:** while a reload brings an equal limiter, its states go on. With other numbers they start over.
//! * **Under a throttle:** there is no number to relax, so it is refused where it would have to be.
//! * **In headers:** it has no quota, which would need a period.
//! * **By other ways:** a policy asks `peek` and `record`, also to `check`, to `check_last` and to `charge`.

use super::Limiter;
use super::algorithm::{Algorithm, NotRelaxed, Relax};
use super::any::AnyLimiter;
use super::in_f64::InF64;
use super::kept::{Bytes, Content, KeptError, Kind, Shape};
use super::text::{Form, Given, Unreadable};
use crate::outcome::{Outcome, Retry};
use crate::rate::Rate;
use crate::text::BadNumber;
use crate::time::{Span, Time};
use alloc::boxed::Box;
use alloc::sync::Arc;
use core::any::Any;
use core::fmt;

/// A limiter of your own, as one of [`AnyLimiter`]: see [the module](self).
///
/// It decides as the limiter within. A clone is the same limiter.
#[derive(Clone, Debug)]
pub struct Custom(Arc<dyn Erased>);

/// The state of a limiter of your own.
#[derive(Debug)]
#[doc(hidden)]
pub struct State(Box<dyn ErasedState>);

/// A limiter without its type.
trait Erased: Limiter<State = State> + Any + fmt::Debug + Send + Sync {
    fn equals(&self, other: &dyn Erased) -> bool;
}

/// A state without its type.
trait ErasedState: Any + fmt::Debug + Send + Sync {
    fn copy(&self) -> State;
    fn equals(&self, other: &dyn ErasedState) -> bool;
}

impl Custom {
    /// Takes a limiter of any type. Two of them are equal if the limiters within are.
    pub fn new<L>(limiter: L) -> Self
    where
        L: Limiter<State: PartialEq + Send + Sync + 'static>,
        L: PartialEq + fmt::Debug + Send + Sync + 'static,
    {
        Custom(Arc::new(Typed(limiter)))
    }
}

impl PartialEq for Custom {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Clone for State {
    fn clone(&self) -> Self {
        self.0.copy()
    }
}

impl PartialEq for State {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl<S: Clone + PartialEq + fmt::Debug + Send + Sync + 'static> ErasedState for S {
    fn copy(&self) -> State {
        State(Box::new(self.clone()))
    }

    fn equals(&self, other: &dyn ErasedState) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

/// A limiter that finds its own states behind [`State`]. A state of another limiter counts as a new one, and is replaced
/// when an event is recorded.
#[derive(PartialEq)]
struct Typed<L>(L);

impl<L: fmt::Debug> fmt::Debug for Typed<L> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl<L: Limiter<State: PartialEq + Send + Sync + 'static>> Typed<L> {
    fn read<R>(&self, state: &State, read: impl FnOnce(&L::State) -> R) -> R {
        let state: &dyn Any = &*state.0;
        match state.downcast_ref() {
            Some(state) => read(state),
            None => read(&self.0.initial()),
        }
    }

    fn change<R>(&self, state: &mut State, change: impl FnOnce(&mut L::State) -> R) -> R {
        let known: &mut dyn Any = &mut *state.0;
        if let Some(known) = known.downcast_mut() {
            return change(known);
        }
        let mut new = self.0.initial();
        let result = change(&mut new);
        *state = State(Box::new(new));
        result
    }
}

impl<L> Erased for Typed<L>
where
    L: Limiter<State: PartialEq + Send + Sync + 'static>,
    L: PartialEq + fmt::Debug + Send + Sync + 'static,
{
    fn equals(&self, other: &dyn Erased) -> bool {
        let other: &dyn Any = other;
        other.downcast_ref() == Some(self)
    }
}

impl<L: Limiter<State: PartialEq + Send + Sync + 'static>> Limiter for Typed<L> {
    type State = State;

    fn initial(&self) -> State {
        State(Box::new(self.0.initial()))
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        self.read(state, |state| self.0.peek(state, now, cost))
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        self.change(state, |state| self.0.record(state, now, cost, allowed));
    }

    fn undo(&self, state: &mut State, at: Time, now: Time, cost: f64) -> bool {
        self.change(state, |state| self.0.undo(state, at, now, cost))
    }

    fn grows(&self) -> bool {
        self.0.grows()
    }

    fn forget(&self, state: &mut State, now: Time) {
        self.change(state, |state| self.0.forget(state, now));
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        self.read(state, |state| self.0.retry_after(state, now, cost))
    }

    fn remaining(&self, state: &State, now: Time) -> f64 {
        self.read(state, |state| self.0.remaining(state, now))
    }

    fn reset_after(&self, state: &State, now: Time) -> Span {
        self.read(state, |state| self.0.reset_after(state, now))
    }

    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        self.0.max_admitted(window, cost)
    }
}

impl Limiter for Custom {
    type State = State;

    fn initial(&self) -> State {
        self.0.initial()
    }

    fn peek(&self, state: &State, now: Time, cost: f64) -> Outcome {
        self.0.peek(state, now, cost)
    }

    fn record(&self, state: &mut State, now: Time, cost: f64, allowed: bool) {
        self.0.record(state, now, cost, allowed);
    }

    fn undo(&self, state: &mut State, at: Time, now: Time, cost: f64) -> bool {
        self.0.undo(state, at, now, cost)
    }

    fn grows(&self) -> bool {
        self.0.grows()
    }

    fn forget(&self, state: &mut State, now: Time) {
        self.0.forget(state, now);
    }

    fn retry_after(&self, state: &State, now: Time, cost: f64) -> Retry {
        self.0.retry_after(state, now, cost)
    }

    fn remaining(&self, state: &State, now: Time) -> f64 {
        self.0.remaining(state, now)
    }

    fn reset_after(&self, state: &State, now: Time) -> Span {
        self.0.reset_after(state, now)
    }

    fn max_admitted(&self, window: Span, cost: f64) -> f64 {
        self.0.max_admitted(window, cost)
    }
}

/// As in `custom Trial(3.0)`: the limiter's `Debug`.
impl fmt::Display for Custom {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "custom {:?}", self.0)
    }
}

impl Algorithm for Custom {
    /// No text is read as one, so [`FORMS`](super::FORMS) does not have it.
    const FORM: Form = Form { name: "custom", words: "", example: "", about: "" };
    const UNIT: &'static str = "level";
    const KIND: &'static Kind =
        &Kind { name: "custom", spans: &[], read: |_, _| Err(KeptError::Custom) };

    fn read(given: &mut Given<'_>) -> Result<AnyLimiter, Unreadable> {
        Err(given.missing("a limiter").into())
    }

    fn quota(&self) -> Option<Rate> {
        None
    }

    fn relaxed(&self, _: Relax) -> Result<Self, NotRelaxed> {
        Err(NotRelaxed::Fixed("it is an algorithm of your own"))
    }

    fn shape(&self) -> Shape {
        Shape::new(Self::KIND, [])
    }

    /// Only the limiter within knows what its state means.
    fn keep(&self, _: &State, _: Time, _: &mut Content) {}

    fn restore(&self, _: &mut Bytes<'_>) -> Result<State, KeptError> {
        Err(KeptError::Custom)
    }

    fn in_f64(&self) -> Result<InF64, BadNumber> {
        Err(BadNumber { what: "a custom limiter", given: f64::NAN, want: "one of this crate" })
    }
}
