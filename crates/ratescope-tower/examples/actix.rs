//! A service of actix-web: each address may send a request a second, and a few more at once.
//!
//! `cargo run -p ratescope-tower --example actix`, and then, until it answers with 429: `curl -i http://127.0.0.1:3000`

use actix_web::{App, HttpServer, web};
use ratescope::{MemoryStore, ParseError, Policy};
use ratescope_tower::{Clock, Problem, RateLimitLayer, SystemClock};

type Limit<C> = RateLimitLayer<MemoryStore, Problem, C>;

pub(crate) fn limit<C: Clock>(clock: C) -> Result<Limit<C>, ParseError> {
    let policy: Policy = "gcra 1/1s burst 5 per ip".parse()?;
    Ok(RateLimitLayer::new(MemoryStore::new(policy, 100_000)).clock(clock))
}

pub(crate) async fn hello(path: web::Path<String>) -> String {
    format!("hello from /{path}\n")
}

#[actix_web::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let limit = limit(SystemClock)?;
    let server = HttpServer::new(move || {
        App::new().wrap(limit.clone()).route("/{path:.*}", web::get().to(hello))
    });
    Ok(server.bind("127.0.0.1:3000")?.run().await?)
}
