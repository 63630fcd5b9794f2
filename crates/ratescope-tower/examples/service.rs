//! A service whose requests are limited, and the bytes that it sends: rules in a file that is watched, a
//! login, a quota of each user, a queue, counters for Prometheus.
//!
//! ```sh
//! cargo run -p ratescope-tower --example service           # then, elsewhere:
//! for i in 1 2 3 4 5 6; do curl -i -d '' http://127.0.0.1:3000/login; done
//! curl http://127.0.0.1:3000/metrics
//! ```
//!
//! Change `examples/service.yaml` while it runs: after some seconds the new rules are in force, and the
//! log says what became of the old ones. With the address of a Redis in `REDIS_URL`, the
//! states are on that Redis, and several processes can share them.

use axum::Router;
use axum::extract::{ConnectInfo, MatchedPath, Request};
use axum::http::header::AUTHORIZATION;
use axum::middleware::{Next, from_fn};
use axum::response::Response;
use axum::routing::{get, post};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use ratescope::rules::Store;
use ratescope_tower::watch::{self, Watch};
use ratescope_tower::{self, Clock, Proxies, RateLimitLayer, SystemClock};
use std::error::Error;
use std::net::SocketAddr;
use std::path::Path;
use std::time::Duration;
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().init();
    let metrics = PrometheusBuilder::new().install_recorder()?;
    let listener = TcpListener::bind("127.0.0.1:3000").await?;
    println!("listening at http://{}", listener.local_addr()?);
    let rules = Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/service.yaml"));
    if let Ok(url) = std::env::var("REDIS_URL") {
        let (store, watch) = open_on_redis(&url, rules)?;
        return serve(listener, store, watch, metrics).await;
    }
    // At most 100,000 keys of each limit.
    let (store, watch) = watch::open(rules, 100_000)?;
    serve(listener, store, watch, metrics).await
}

/// Opens the rules in a file that is watched, with their states on the Redis at `url`.
pub(crate) fn open_on_redis(
    url: &str,
    rules: &Path,
) -> Result<(ratescope_redis::RedisStore, Watch), Box<dyn Error>> {
    use ratescope_redis::{Options, RedisStore};
    let text = std::fs::read_to_string(rules)?;
    let read = ratescope::rules::Rules::read(&rules.display().to_string(), &text)?;
    let store = RedisStore::open(url, read, Options::default())?;
    let follows = store.clone();
    let watch = Watch::new(rules, text, move |file, text, now| follows.reload(file, text, now));
    Ok((store, watch))
}

/// The user who sent a request.
#[derive(Clone)]
struct User(String);

/// Serves for ever.
pub(crate) async fn serve(
    listener: TcpListener,
    store: impl Store,
    watch: Watch,
    metrics: PrometheusHandle,
) -> Result<(), Box<dyn Error>> {
    let _watching =
        watch.every(Duration::from_secs(1), || SystemClock.now(), ratescope_tower::log_reload)?;
    let limit = RateLimitLayer::new(store)
        .peer(|peer: &ConnectInfo<SocketAddr>| peer.0.ip())
        .behind(Proxies::x_forwarded_for("127.0.0.0/8, ::1".parse()?)?)
        .user(|user: &User| user.0.as_str())
        .extension("route", |path: &MatchedPath| path.as_str())
        // Before its answer is sent, a request costs nothing but in rules with a cost of their own.
        .cost(|_| 0.0)
        .charge_body(|bytes| bytes as f64 / 1000.0) // kilobytes
        .check_sources()?;
    let app = Router::new()
        .route("/", get(|| async { "hello\n" }))
        .route("/login", post(|| async { "welcome\n" }))
        .route("/items/{id}", get(|| async { "an item\n" }))
        .route("/report", get(|| async { "a report\n" }))
        .route("/download", get(|| async { "a line of a long file\n".repeat(30_000) }))
        .layer(limit)
        // The layer that is added last runs first, so the user is known to the limits.
        .layer(from_fn(authenticate))
        // A route that is added after the limits is not limited.
        .route("/metrics", get(|| async move { metrics.render() }));
    let app = app.into_make_service_with_connect_info::<SocketAddr>();
    Ok(axum::serve(listener, app).await?)
}

/// Takes the token for the name of the user. A service checks it instead.
async fn authenticate(mut request: Request, next: Next) -> Response {
    let header = request.headers().get(AUTHORIZATION).and_then(|value| value.to_str().ok());
    let token = header.and_then(|value| value.strip_prefix("Bearer "));
    if let Some(user) = token.map(|token| User(token.to_owned())) {
        request.extensions_mut().insert(user);
    }
    next.run(request).await
}
