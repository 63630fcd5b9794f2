//! Costs that are reserved before they are known.
//!
//! A request is counted at the highest cost that it may have, and settled at its actual cost: see [`Reservation`].

use super::decide::Shared;
use super::settle::{CountedEvent, Debt};
use core::fmt;
use ratescope::clock::Clock;
use ratescope::rules::Store;
use std::sync::{Arc, Mutex, PoisonError};

/// The cost that was counted when a request passed, and is settled when its actual cost is known. It is an extension of
/// the request, in a layer with [`reserve`](super::RateLimitLayer::reserve).
///
/// Here the tokens of a language model are limited per minute and per day. A request reserves 1000, the most that an
/// answer has, and costs the tokens that were sent, also if the client hangs up. `examples/tokens.rs` is the whole
/// service.
///
/// ```
/// use axum::{Extension, body::Body};
/// use futures_util::{StreamExt, stream};
/// use ratescope_tower::{RateLimitLayer, Reservation};
/// use ratescope::{Policy, rules::MemoryStore};
/// use std::convert::Infallible;
///
/// async fn answer(Extension(reservation): Extension<Reservation>) -> Body {
///     let tokens = stream::iter(["Wait", " a", " minute", "."]); // as the model says them
///     Body::from_stream(tokens.map(move |token| {
///         reservation.add(1.0);
///         Ok::<_, Infallible>(token)
///     }))
/// }
///
/// let policy: Policy = "token-bucket 20000/1m & fixed-window 500000/1d per user".parse()?;
/// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000)).cost(|_| 1000.0).reserve();
/// # let _: axum::Router = axum::Router::new().route("/", axum::routing::post(answer)).layer(limit);
/// # Ok::<(), ratescope::ParseError>(())
/// ```
///
/// * If the actual cost is higher, the difference is charged, as [`charge`](super::RateLimitLayer::charge) does. If it is
///   lower, the difference is given back. A rule with a `cost` of its own, such as one for the number of requests,
///   keeps its count.
/// * When the last clone is dropped without [`settle`](Self::settle), the request costs as much as was
///   [added](Self::add). So a handler that fails before it adds anything, or never uses the reservation, gives all
///   back, and so does a client who leaves the queue. Only a request that is dropped while the store is still being
///   asked costs all that it reserved, unless the answer comes at once, as from a store in memory. So put the layer
///   around the routes that reserve, with a second limit on the number of their requests, which also counts failed
///   ones.
/// * Only a cost that certainly still counts is given back, by the time at which the request was counted: see
///   [`Limiter::undo`](ratescope::Limiter::undo). The part that a bucket has drained since, or a window has forgotten,
///   is gone. So nobody gains by holding requests open. Still, give bodies a timeout, and bound the open requests of a
///   client.
/// * With several layers that reserve, and for a request that is checked twice, one reservation settles all of them.
/// * A limiter that measures a rate can't give back. With
///   such a limiter among the limits, nothing is given back to any limit, and the layer logs a warning when it is made.
///   It does not warn of a [store](ratescope::rules::Store) of your own that can't give back.
/// * Nothing waits. A store in memory has counted the difference when these methods return. For any other store, a task
///   of tokio counts the difference. A lost charge is counted in the [meters](super::meters) or logged; a cost that
///   can't be given back, as without a runtime, stays counted. If the store failed and each rule decided by its
///   `on_store_failure`, nothing is given back.
#[derive(Clone)]
#[must_use = "what was reserved is given back when it is dropped"]
pub struct Reservation {
    reserved: f64,
    debt: Arc<Mutex<Debt>>,
    /// That of an outer layer.
    outer: Option<Box<Reservation>>,
}

impl Reservation {
    pub(super) fn new<S, A, C>(
        shared: Arc<Shared<S, A, C>>,
        counted: Arc<CountedEvent>,
        outer: Option<Reservation>,
    ) -> Self
    where
        S: Store,
        A: Send + Sync + 'static,
        C: Clock,
    {
        let reserved = counted.cost;
        let debt = Debt::new(move |actual| shared.settle(counted, actual));
        let debt = Arc::new(Mutex::new(debt));
        Reservation { reserved, debt, outer: outer.map(Box::new) }
    }

    /// The cost that was counted when the request passed.
    pub fn reserved(&self) -> f64 {
        self.reserved
    }

    /// Adds to the actual cost, such as for a piece of a streamed body when it is sent. The sum is settled when the
    /// last clone is dropped.
    pub fn add(&self, cost: f64) {
        self.debt.lock().unwrap_or_else(PoisonError::into_inner).sum += cost;
        if let Some(outer) = &self.outer {
            outer.add(cost);
        }
    }

    /// Settles the request at its actual `cost`, in place of the added costs. Later calls change nothing. A negative or
    /// NaN cost is logged, and the request costs the reserved amount.
    pub fn settle(&self, cost: f64) {
        let mut debt = self.debt.lock().unwrap_or_else(PoisonError::into_inner).take();
        debt.sum = cost;
        drop(debt);
        if let Some(outer) = &self.outer {
            outer.settle(cost);
        }
    }
}

impl fmt::Debug for Reservation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reservation").field("reserved", &self.reserved).finish_non_exhaustive()
    }
}
