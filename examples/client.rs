//! A client of a service that takes two calls a second: it waits instead of being refused.
//!
//! `cargo run --example client --features wait`

use ratescope::Span;
use ratescope::limit::gcra::Gcra;
use ratescope::store::Keyed;
use ratescope::waiting::{Clock, GaveUp, SystemClock, Waiting};
use std::error::Error;
use std::sync::Arc;

struct Client<C> {
    /// For each host.
    calls: Keyed<Gcra>,
    clock: C,
}

impl<C: Clock> Client<C> {
    fn new(clock: C) -> Result<Arc<Self>, Box<dyn Error>> {
        let calls = Keyed::new(Gcra::new("2/1s".parse()?, 2.0)?, 1000);
        Ok(Arc::new(Client { calls, clock }))
    }

    /// Calls a host, as soon as it may be called, if that is within ten seconds.
    async fn get(&self, host: &str, path: &str) -> Result<String, GaveUp> {
        let waiting = Waiting::DEFAULT.at_most(Span::seconds(10));
        let _ = self.calls.until_allowed(host, &self.clock, waiting).await?;
        Ok(format!("GET https://{host}{path}")) // here it would be sent
    }
}

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let client = Client::new(SystemClock)?;
    for page in 1..=6 {
        println!("{}", client.get("api.example.com", &format!("/{page}")).await?);
    }
    Ok(())
}

#[tokio::test]
async fn calls_keep_to_the_limit() -> Result<(), Box<dyn Error>> {
    let clock = ratescope::clock::FakeClock::default();
    let client = Client::new(clock.clone())?;
    let both = client.get("a", "/1").await.and(client.get("a", "/2").await);
    assert_eq!(both?, "GET https://a/2");
    let third = tokio::spawn(async move { client.get("a", "/3").await });
    while !third.is_finished() {
        clock.advance(Span::micros(100_000));
        tokio::task::yield_now().await;
    }
    assert_eq!(third.await??, "GET https://a/3");
    assert!(clock.now() >= ratescope::Time::ZERO.after(Span::micros(500_000)));
    Ok(())
}
