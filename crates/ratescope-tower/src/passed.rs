//! A request that passed the limits, from then until its response is complete.

use super::decide::{Next, Shared};
use super::fields::Head;
use super::headers::Values;
use super::layer::{RateLimitLayer, ResponseHead};
use super::refusal::Answer;
use super::reservation::Reservation;
use super::ticket::Ticket;
use core::fmt;
use http::{Request, Response};
use ratescope::clock::Clock;
use ratescope::rules::Store;
use std::sync::Arc;

/// A request that passed: what [`RateLimitLayer::finish`] needs to complete its response.
#[derive(Default)]
#[must_use = "without `finish` its response has no headers, and costs nothing"]
pub struct Passed {
    /// The headers of its response.
    pub(super) headers: Option<Box<Values>>,
    /// What it takes to settle the request, where anything is settled or handlers want the decision.
    pub(super) ticket: Option<Arc<Ticket>>,
}

impl fmt::Debug for Passed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Passed").field("headers", &self.headers).finish_non_exhaustive()
    }
}

/// For frameworks that take no layers of tower: one method before the service, one after.
impl<S: Store, A: Send + Sync + 'static, C: Clock> RateLimitLayer<S, A, C> {
    /// Decides about a request as the layer does: reads its fields, asks the store, counts the decision, logs a
    /// refusal, waits if a leaky bucket delays the request, and adds to its [extensions](http::Extensions) what
    /// handlers find there.
    ///
    /// `examples/hyper.rs` is a server of plain hyper. Where a framework has types of its own, make the head of a request
    /// from them; for actix-web the feature `actix` does:
    ///
    /// ```
    /// use http::{Request, Response};
    /// use ratescope::{Policy, rules::MemoryStore};
    /// use ratescope_tower::RateLimitLayer;
    /// use std::net::IpAddr;
    ///
    /// # #[tokio::main(flavor = "current_thread")]
    /// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
    /// let policy: Policy = "gcra 1/1m per ip".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000));
    ///
    /// let peer: IpAddr = "192.0.2.1".parse()?;
    /// let mut head = Request::get("/search").header("host", "example.com").extension(peer).body(())?;
    ///
    /// let passed = limit.check::<_, String>(&mut head).await.expect("the first request passes");
    /// let mut response = Response::new(String::from("found")); // by the handler
    /// limit.finish(passed, &mut response).await;
    /// assert_eq!(response.headers()["x-ratelimit-remaining"], "0");
    ///
    /// let refusal: Response<String> = limit.check(&mut head).await.unwrap_err();
    /// assert_eq!((refusal.status().as_u16(), &refusal.headers()["retry-after"]), (429, &"60".parse()?));
    /// # Ok(())
    /// # }
    /// ```
    ///
    /// # Errors
    /// The response, with the headers, if the request is refused.
    pub async fn check<Q, B>(&self, request: &mut Request<Q>) -> Result<Passed, Response<B>>
    where
        A: Answer<B>,
    {
        let next = self.shared.decide_now(&Head::new(request));
        if let Some(next) = &next {
            self.shared.insert_extensions(request, next);
        }
        self.shared.admit(request, next).await.map_err(|refusal| *refusal)
    }

    /// Completes the response to a request that passed: [charges](super::RateLimitLayer::charge) for it, and adds the
    /// [headers](super::headers).
    pub async fn finish<B>(&self, mut passed: Passed, response: &mut Response<B>) {
        self.shared.finish(&mut passed, response).await;
    }
}

impl<S: Store, A: Send + Sync + 'static, C: Clock> Shared<S, A, C> {
    /// Asks the store about a request, if the `next` step is not known yet, and waits until the request may be passed on.
    /// If it is known, the [extensions](Self::insert_extensions) are inserted already.
    /// Otherwise returns the refusal.
    pub(super) async fn admit<Q, B>(
        self: &Arc<Self>,
        request: &mut Request<Q>,
        next: Option<Next<B>>,
    ) -> Result<Passed, Box<Response<B>>>
    where
        A: Answer<B>,
    {
        let next = match next {
            Some(next) => next,
            None => {
                let next = self.decide(&Head::new(request)).await;
                self.insert_extensions(request, &next);
                next
            }
        };
        match next {
            Next::Refuse(response) => Err(response),
            Next::Call(passed) => Ok(passed),
            Next::Wait(waiting) => {
                let (wait, slot, passed) = *waiting;
                self.clock.sleep(wait).await;
                drop(slot);
                Ok(passed)
            }
        }
    }

    /// Adds the decision and the reservation to the extensions of a request that passes. It does so as soon as the request
    /// is counted, so that the reservation of a client who leaves the queue is given back. The reservation of an outer
    /// layer, or of an earlier check, is settled together with this one.
    pub(super) fn insert_extensions<Q, B>(
        self: &Arc<Self>,
        request: &mut Request<Q>,
        next: &Next<B>,
    ) {
        let passed = match next {
            Next::Refuse(_) => return,
            Next::Call(passed) => passed,
            Next::Wait(waiting) => &waiting.2,
        };
        let Some(ticket) = &passed.ticket else { return };
        let extensions = request.extensions_mut();
        if self.settings().reserves {
            let outer = extensions.remove::<Reservation>();
            extensions.insert(Reservation::new(Arc::clone(self), Arc::clone(ticket), outer));
        }
        if self.settings().inserts_decision {
            extensions.insert(ticket.decision.clone());
        }
    }

    /// The ticket of a request that is charged when the response is there.
    pub(super) fn charged<'a>(&self, passed: &'a Passed) -> Option<&'a Arc<Ticket>> {
        passed.ticket.as_ref().filter(|_| self.settings().is_charged_later())
    }

    /// Completes a response: charges for its head, and adds the headers.
    pub(super) async fn finish<B>(&self, passed: &mut Passed, response: &mut Response<B>) {
        if let Some(ticket) = self.charged(passed) {
            self.charge_head(ticket, ResponseHead::new(response)).await;
        }
        if let Some(headers) = &mut passed.headers {
            headers.write(response.headers_mut());
        }
    }
}
