//! A service of actix-web: each address may send a request a second, and a few more at once.
//!
//! `cargo run -p ratescope-tower --example actix`, and then, until it answers with 429: `curl -i http://127.0.0.1:3000`

use actix_web::body::{EitherBody, MessageBody};
use actix_web::dev::{ServiceRequest, ServiceResponse};
use actix_web::error::{ErrorBadRequest, ErrorInternalServerError};
use actix_web::http::StatusCode;
use actix_web::http::header::{HeaderMap, HeaderName, HeaderValue};
use actix_web::middleware::{Next, from_fn};
use actix_web::{App, Error, HttpResponse, HttpServer, web};
use ratescope::rules::MemoryStore;
use ratescope::{ParseError, Policy};
use ratescope_tower::{Clock, Problem, RateLimit, SystemClock};

type Limit<C> = RateLimit<MemoryStore, Problem, C>;

pub(crate) fn limit<C: Clock>(clock: C) -> Result<Limit<C>, ParseError> {
    let policy: Policy = "gcra 1/1s burst 5 per ip".parse()?;
    Ok(RateLimit::new(MemoryStore::new(policy, 100_000)).clock(clock))
}

/// A middleware, for `from_fn`. The limit is in the data of the application.
pub(crate) async fn limited<C: Clock, B: MessageBody>(
    limit: web::ThinData<Limit<C>>,
    request: ServiceRequest,
    next: Next<B>,
) -> Result<ServiceResponse<EitherBody<B, String>>, Error> {
    let mut head = request_head(&request).map_err(ErrorBadRequest)?;
    match limit.check::<_, String>(&mut head).await {
        Ok(passed) => {
            let mut response = next.call(request).await?;
            let mut head = response_head(&response)?;
            limit.finish(passed, &mut head).await;
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

pub(crate) async fn hello(path: web::Path<String>) -> String {
    format!("hello from /{path}\n")
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limit = limit(SystemClock)?;
    let server = HttpServer::new(move || {
        App::new()
            .app_data(web::ThinData(limit.clone()))
            .wrap(from_fn(limited::<SystemClock, _>))
            .route("/{path:.*}", web::get().to(hello))
    });
    Ok(server.bind("127.0.0.1:3000")?.run().await?)
}
