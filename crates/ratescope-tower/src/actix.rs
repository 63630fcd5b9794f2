//! The layer as a middleware of actix-web.

use super::layer::RateLimitLayer;
use super::refusal::Answer;
use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{Service, ServiceRequest, ServiceResponse, Transform, forward_ready};
use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::{Error, HttpMessage, HttpResponse};
use core::fmt;
use core::future::{Future, Ready, ready};
use core::pin::Pin;
use ratescope::clock::Clock;
use ratescope::rules::{Decision, Store};
use std::rc::Rc;

/// A service of actix-web with the limits of a [`RateLimitLayer`], by the feature `actix`.
///
/// ```
/// use actix_web::{App, web};
/// use ratescope::{MemoryStore, Policy};
/// use ratescope_tower::RateLimitLayer;
///
/// let policy: Policy = "gcra 10/1s burst 20 per ip".parse()?;
/// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000));
/// // In the closure of `HttpServer::new`, each worker wraps a clone of one layer.
/// let app = App::new().wrap(limit.clone()).route("/", web::get().to(|| async { "hello\n" }));
/// # let _ = app;
/// # Ok::<(), ratescope::ParseError>(())
/// ```
///
/// The peer is the one that actix-web knows. Fields of [extensions](RateLimitLayer::extension) are not there, since those of
/// actix-web are apart; a closure can read [headers](RateLimitLayer::field).
pub struct Limited<I, S, A, C> {
    inner: Rc<I>,
    limit: RateLimitLayer<S, A, C>,
}

impl<I, S, A, C> fmt::Debug for Limited<I, S, A, C> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Limited").field("limit", &self.limit).finish_non_exhaustive()
    }
}

impl<I, B, S, A, C> Transform<I, ServiceRequest> for RateLimitLayer<S, A, C>
where
    I: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
    S: Store,
    A: Answer<String>,
    C: Clock,
{
    type Response = ServiceResponse<EitherBody<B, String>>;
    type Error = Error;
    type InitError = ();
    type Transform = Limited<I, S, A, C>;
    type Future = Ready<Result<Self::Transform, ()>>;

    fn new_transform(&self, inner: I) -> Self::Future {
        self.shared.report();
        ready(Ok(Limited { inner: Rc::new(inner), limit: self.clone() }))
    }
}

impl<I, B, S, A, C> Service<ServiceRequest> for Limited<I, S, A, C>
where
    I: Service<ServiceRequest, Response = ServiceResponse<B>, Error = Error> + 'static,
    B: MessageBody + 'static,
    S: Store,
    A: Answer<String>,
    C: Clock,
{
    type Response = ServiceResponse<EitherBody<B, String>>;
    type Error = Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Error>>>>;

    forward_ready!(inner);

    fn call(&self, request: ServiceRequest) -> Self::Future {
        let (inner, limit) = (Rc::clone(&self.inner), self.limit.clone());
        Box::pin(async move {
            let mut head = request_head(&request).map_err(ErrorBadRequest)?;
            match limit.check::<_, String>(&mut head).await {
                Ok(ticket) => {
                    if let Some(decision) = head.extensions_mut().remove::<Decision>() {
                        request.extensions_mut().insert(decision);
                    }
                    if let Some(reservation) = head.extensions_mut().remove::<super::Reservation>()
                    {
                        request.extensions_mut().insert(reservation);
                    }
                    let mut response = inner.call(request).await?;
                    let mut head = response_head(&response)?;
                    limit.finish(ticket, &mut head).await;
                    copy_headers(&head, response.headers_mut())?;
                    Ok(response.map_into_left_body())
                }
                Err(refusal) => {
                    let status = StatusCode::from_u16(refusal.status().as_u16())
                        .map_err(ErrorInternalServerError)?;
                    let mut response = HttpResponse::new(status);
                    copy_headers(&refusal, response.headers_mut())?;
                    let response = response.set_body(refusal.into_body());
                    Ok(request.into_response(response).map_into_right_body())
                }
            }
        })
    }
}

// actix-web has the types of `http` 0.2, and this crate those of 1.

fn request_head(request: &ServiceRequest) -> Result<http::Request<()>, http::Error> {
    let mut head =
        http::Request::builder().method(request.method().as_str()).uri(request.uri().to_string());
    for (name, value) in request.headers() {
        head = head.header(name.as_str(), value.as_bytes());
    }
    if let Some(peer) = request.peer_addr() {
        head = head.extension(peer);
    }
    head.body(())
}

fn response_head<B>(response: &ServiceResponse<B>) -> Result<http::Response<()>, Error> {
    let mut head = http::Response::builder().status(response.status().as_u16());
    for (name, value) in response.headers() {
        head = head.header(name.as_str(), value.as_bytes());
    }
    head.body(()).map_err(ErrorInternalServerError)
}

fn copy_headers<B>(from: &http::Response<B>, to: &mut HeaderMap) -> Result<(), Error> {
    to.clear();
    for (name, value) in from.headers() {
        let name = HeaderName::from_bytes(name.as_ref()).map_err(ErrorInternalServerError)?;
        let value = HeaderValue::from_bytes(value.as_bytes()).map_err(ErrorInternalServerError)?;
        to.append(name, value);
    }
    Ok(())
}
