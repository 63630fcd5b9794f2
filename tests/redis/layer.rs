//! The layer before two services that share their limits on Redis.

use super::server::Server;
use super::{open, rules, run};
use core::convert::Infallible;
use core::future::{Ready, poll_fn, ready};
use core::task::{Context, Poll};
use http::{Request, Response, StatusCode};
use ratescope::middleware::RateLimit;
use ratescope::redis_store::Options;
use std::net::IpAddr;
use std::time::Duration;
use tower_layer::Layer;
use tower_service::Service;

#[derive(Clone)]
struct Hello;

impl Service<Request<String>> for Hello {
    type Response = Response<String>;
    type Error = Infallible;
    type Future = Ready<Result<Response<String>, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<String>) -> Self::Future {
        ready(Ok(Response::new("hello".to_owned())))
    }
}

#[test]
fn two_services_share_a_limit() {
    let Some(mut server) = Server::start(&[]) else { return };
    run(async {
        let options = Options { deadline: Duration::from_secs(2), ..Options::default() };
        let text = "domain: web\nlimit: gcra 3/1h per ip\n";
        let service = |_| {
            let store = open(&server.url(), rules(text), options.clone());
            RateLimit::new(store).layer().layer(Hello)
        };
        let mut services = [0; 2].map(service);
        let mut ask = async |which: usize| {
            let mut request = Request::new(String::new());
            request.extensions_mut().insert("192.0.2.7".parse::<IpAddr>().unwrap());
            poll_fn(|context| services[which].poll_ready(context)).await.unwrap();
            let response = services[which].call(request).await.unwrap();
            let remaining = response.headers().get("x-ratelimit-remaining").cloned();
            let remaining = remaining.map(|value| value.to_str().unwrap().to_owned());
            (response.status(), remaining, response.headers().contains_key("retry-after"))
        };
        for (which, left) in [(0, "2"), (1, "1"), (0, "0")] {
            assert_eq!(ask(which).await, (StatusCode::OK, Some(left.to_owned()), false));
        }
        let refused = (StatusCode::TOO_MANY_REQUESTS, Some("0".to_owned()), true);
        assert_eq!(ask(1).await, refused);
        assert_eq!(ask(0).await, refused);
        // Without Redis each goes on by what it has seen itself, which is nothing yet.
        server.kill();
        assert_eq!(ask(0).await, (StatusCode::OK, Some("2".to_owned()), false));
    });
}
