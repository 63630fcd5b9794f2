//! A request that passed the limits, from its decision until its response is complete.

use super::decide::{Decided, Shared};
use super::fields::Head;
use super::headers::Values;
use super::layer::{RateLimitLayer, ResponseHead};
use super::queue::QueueSlot;
use super::refusal::Answer;
use super::reservation::Reservation;
use super::settle::CountedEvent;
use core::fmt;
use http::{Request, Response};
use ratescope::clock::Clock;
use ratescope::rules::Store;
use std::sync::Arc;

/// A request that passed, with all that [`RateLimitLayer::finish`] needs to complete its response.
#[derive(Default)]
#[must_use = "without `finish` its response has no headers, and costs nothing"]
pub struct Ticket {
    pub(super) headers: Option<Box<Values>>,
    /// Its slot in the queue, if it waits.
    pub(super) slot: Option<Box<QueueSlot>>,
    /// The counted event, where anything is settled later or handlers want the decision.
    pub(super) counted: Option<Arc<CountedEvent>>,
}

impl fmt::Debug for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Ticket").field("headers", &self.headers).finish_non_exhaustive()
    }
}

/// For frameworks that take no layers of tower: one method before the service, one after.
impl<S: Store, A: Send + Sync + 'static, C: Clock> RateLimitLayer<S, A, C> {
    /// Decides about a request as the layer does: reads its fields, asks the store, counts the decision, logs a
    /// refusal, waits if a leaky bucket delays the request, and adds to its [extensions](http::Extensions) the values
    /// that handlers find there.
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
    /// let ticket = limit.check::<_, String>(&mut head).await.expect("the first request passes");
    /// let mut response = Response::new(String::from("found")); // by the handler
    /// limit.finish(ticket, &mut response).await;
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
    pub async fn check<Q, B>(&self, request: &mut Request<Q>) -> Result<Ticket, Response<B>>
    where
        A: Answer<B>,
    {
        let decided = self.shared.decide_now(&Head::new(request));
        if let Some(Ok(ticket)) = &decided {
            self.shared.insert_extensions(request, ticket);
        }
        self.shared.admit(request, decided).await.map_err(|refusal| *refusal)
    }

    /// Completes the response to a request that passed: [charges](super::RateLimitLayer::charge) for it, and adds the
    /// [headers](super::headers).
    pub async fn finish<B>(&self, mut ticket: Ticket, response: &mut Response<B>) {
        self.shared.finish(&mut ticket, response).await;
    }
}

impl<S: Store, A: Send + Sync + 'static, C: Clock> Shared<S, A, C> {
    /// Asks the store about a request, unless it has `decided` at once, and waits until the request may be passed on. The
    /// [extensions](Self::insert_extensions) of a request that was decided at once are there already.
    pub(super) async fn admit<Q, B>(
        self: &Arc<Self>,
        request: &mut Request<Q>,
        decided: Option<Decided<B>>,
    ) -> Decided<B>
    where
        A: Answer<B>,
    {
        let mut ticket = match decided {
            Some(decided) => decided?,
            None => {
                let ticket = self.decide(&Head::new(request)).await?;
                self.insert_extensions(request, &ticket);
                ticket
            }
        };
        if let Some(slot) = ticket.slot.take() {
            self.clock.sleep(slot.wait).await;
        }
        Ok(ticket)
    }

    /// Adds the decision and the reservation to the extensions of a request that passes. It does so as soon as the request
    /// is counted, so that the reservation of a client who leaves the queue is given back. The reservation of an outer
    /// layer, or of an earlier check, is settled together with this one.
    pub(super) fn insert_extensions<Q>(
        self: &Arc<Self>,
        request: &mut Request<Q>,
        ticket: &Ticket,
    ) {
        let Some(counted) = &ticket.counted else { return };
        let extensions = request.extensions_mut();
        if self.settings().reserves {
            let outer = extensions.remove::<Reservation>();
            extensions.insert(Reservation::new(Arc::clone(self), Arc::clone(counted), outer));
        }
        if self.settings().inserts_decision {
            extensions.insert(counted.decision.clone());
        }
    }

    /// The counted event, if the response decides about a further cost.
    pub(super) fn charged<'a>(&self, ticket: &'a Ticket) -> Option<&'a Arc<CountedEvent>> {
        ticket.counted.as_ref().filter(|_| self.settings().is_charged_later())
    }

    /// Completes a response: charges for its head, and adds the headers.
    pub(super) async fn finish<B>(&self, ticket: &mut Ticket, response: &mut Response<B>) {
        if let Some(counted) = self.charged(ticket) {
            self.charge_head(counted, ResponseHead::new(response)).await;
        }
        if let Some(headers) = &mut ticket.headers {
            headers.write(response.headers_mut());
        }
    }
}
