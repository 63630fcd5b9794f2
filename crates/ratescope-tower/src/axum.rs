//! The fields that axum knows of a request.

use super::fields::{FieldSource, MissingSources};
use super::layer::RateLimitLayer;
use axum::extract::connect_info::MockConnectInfo;
use axum::extract::{ConnectInfo, MatchedPath};
use core::net::{IpAddr, SocketAddr};
use http::Extensions;
use ratescope::rules::Store;
use std::sync::Arc;

impl<S: Store, A, C, W> RateLimitLayer<S, A, C, W> {
    /// Makes it a layer for axum, which finds the field `ip` in axum's
    /// [`ConnectInfo`], and the field `route` in its [`MatchedPath`]. Call it last, since it checks the sources:
    ///
    /// ```
    /// use axum::{Router, routing::get};
    /// use ratescope::{MemoryStore, Policy};
    /// use ratescope_tower::RateLimitLayer;
    /// use std::net::SocketAddr;
    ///
    /// let policy: Policy = "gcra 10/1s burst 20 per ip+route".parse()?;
    /// let limit = RateLimitLayer::new(MemoryStore::new(policy, 100_000)).axum()?;
    /// let app: Router = Router::new().route("/users/{id}", get(|| async { "hello\n" })).layer(limit);
    /// let served = app.into_make_service_with_connect_info::<SocketAddr>();
    /// # let _ = served;
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// A server without `into_make_service_with_connect_info` does not say who is connected. Requests that a rule counts
    /// by their address then get status 500, as by
    /// [`refuse_missing_sources`](Self::refuse_missing_sources), since one client could use up the limit of all. In
    /// tests, axum's [`MockConnectInfo`] says it. A [`peer`](Self::peer) and a source of `route` that were set before
    /// stay.
    ///
    /// # Errors
    /// As for [`check_sources`](Self::check_sources): when the rules are about a field without a source, such as `user`.
    pub fn axum(self) -> Result<Self, MissingSources> {
        let layer = self.with(|settings| {
            let sources = &mut settings.sources;
            sources.refuse_missing = true;
            sources.peer.get_or_insert_with(|| Arc::new(peer));
            if sources.source("route").is_none() {
                sources.add("route", FieldSource::of_extension(MatchedPath::as_str));
            }
        });
        layer.check_sources()
    }
}

/// The peer, as axum's extractor finds it.
fn peer(extensions: &Extensions) -> Option<Option<IpAddr>> {
    let real = extensions.get().map(|ConnectInfo(peer): &ConnectInfo<SocketAddr>| peer);
    let made_up = || extensions.get().map(|MockConnectInfo(peer)| peer);
    real.or_else(made_up).map(|peer| Some(peer.ip()))
}
