//! A service that answers with the tokens of a language model: each user has so many of them a minute and a day, however
//! many requests that are. A request reserves the most that an answer may have, and costs as much as was sent.
//!
//! `cargo run -p ratescope-tower --example tokens`, and then, until it answers with 429:
//! `curl -iN -H 'x-user: ann' http://127.0.0.1:3000/300`

use axum::body::Body;
use axum::extract::Path;
use axum::http::{HeaderName, StatusCode};
use axum::response::{IntoResponse, Response};
use axum::{Extension, Router, routing::get};
use futures_util::{StreamExt, stream};
use ratescope::rules::{MemoryStore, Rules, Store};
use ratescope_tower::{Clock, RateLimitLayer, Reservation, SystemClock};
use std::convert::Infallible;
use std::error::Error;

/// Tokens, and requests, which count even if nothing is answered.
pub(crate) const RULES: &str = "
domain: model
descriptors:
  - {key: user, limit: [token-bucket 2000/1m, fixed-window 500000/1d]}
  - {key: path, limit: gcra 60/1m burst 20 per user, cost: 1}
";

/// The most tokens of an answer.
const MOST: u32 = 1000;

/// Answers with so many tokens.
async fn answer(
    Path(tokens): Path<u32>,
    Extension(reservation): Extension<Reservation>,
) -> Response {
    if tokens == 0 {
        // Nothing was added, so the reservation is given back.
        return StatusCode::BAD_REQUEST.into_response();
    }
    let tokens = stream::iter((1..=tokens.min(MOST)).map(|token| format!("{token} ")));
    let counted = tokens.map(move |token| {
        reservation.add(1.0);
        Ok::<_, Infallible>(token)
    });
    Body::from_stream(counted).into_response()
}

pub(crate) fn app(store: impl Store, clock: impl Clock) -> Router {
    let limit = RateLimitLayer::new(store)
        // Any client can send any header: a service checks who it is.
        .header("user", HeaderName::from_static("x-user"))
        .shown("user") // logs and Redis have the names of users in clear
        .cost(|_| MOST.into())
        .reserve()
        .clock(clock);
    Router::new().route("/{tokens}", get(answer)).layer(limit)
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let store = MemoryStore::new(Rules::read("rules.yaml", RULES)?, 100_000);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:3000").await?;
    Ok(axum::serve(listener, app(store, SystemClock)).await?)
}
