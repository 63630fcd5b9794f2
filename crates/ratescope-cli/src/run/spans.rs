//! The spans of decisions and of calls to Redis, sent to a collector by OTLP.
//!
//! The crates that decide make spans of `tracing`, which cost nothing unless somebody takes them. A span belongs to the
//! trace that the request names, in the header `traceparent` (W3C Trace Context) or the metadata of gRPC.
//!
//! A thread of the SDK sends spans in batches. While the collector does not answer, 2,048 wait, and others are lost.

use http::HeaderMap;
use opentelemetry::propagation::{Extractor, TextMapPropagator};
use opentelemetry::trace::{TraceContextExt, TracerProvider};
use opentelemetry::{Context, KeyValue};
use opentelemetry_otlp::{SpanExporter, WithExportConfig};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use opentelemetry_sdk::trace::{SdkTracer, SdkTracerProvider};
use std::future::poll_fn;
use std::pin::pin;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// The variables that name a collector, the one for spans first.
const ENDPOINTS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "OTEL_EXPORTER_OTLP_ENDPOINT"];

/// The variables that name the protocol in which a collector is told.
const PROTOCOLS: [&str; 2] = ["OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "OTEL_EXPORTER_OTLP_PROTOCOL"];

/// How long the end waits for the collector to take the last spans.
const LAST: Duration = Duration::from_secs(2);

/// True once spans are taken.
static IS_ON: AtomicBool = AtomicBool::new(false);

/// Sends spans until it is ended.
pub(super) struct Spans(SdkTracerProvider);

impl Spans {
    /// Sends spans to the collector at `url`, or the one that the environment names; `None` without one. Needs a runtime
    /// of Tokio.
    ///
    /// # Errors
    /// When the address is malformed, or the environment asks for another protocol than gRPC.
    pub(super) fn begin(url: Option<&str>) -> Result<Option<Self>, String> {
        let is =
            |name: &str, value: &str| set(name).is_some_and(|is| is.eq_ignore_ascii_case(value));
        let is_off = is("OTEL_SDK_DISABLED", "true") || is("OTEL_TRACES_EXPORTER", "none");
        let named = ENDPOINTS.into_iter().find_map(|name| Some((name, set(name)?)));
        let (option, url) = match (url, named) {
            (Some(url), _) => ("--otlp", url.to_owned()),
            (None, Some(named)) if !is_off => named,
            _ => return Ok(None),
        };
        let protocol = PROTOCOLS.into_iter().find_map(|name| Some((name, set(name)?)));
        if let Some((name, protocol)) = protocol.filter(|(_, protocol)| protocol != "grpc") {
            return Err(format!(
                "{name} is {protocol}, and spans are sent by grpc only: write grpc, and the port of gRPC, usually 4317"
            ));
        }
        let exporter = SpanExporter::builder().with_tonic().with_endpoint(url).build();
        let exporter = exporter.map_err(|error| format!("{option}: {error}"))?;
        let named = set("OTEL_SERVICE_NAME").is_some()
            || set("OTEL_RESOURCE_ATTRIBUTES").is_some_and(|all| all.contains("service.name="));
        let version = KeyValue::new("service.version", env!("CARGO_PKG_VERSION"));
        let mut resource = Resource::builder().with_attribute(version);
        if !named {
            resource = resource.with_service_name("ratescope");
        }
        let provider = SdkTracerProvider::builder().with_resource(resource.build());
        IS_ON.store(true, Ordering::Relaxed);
        Ok(Some(Spans(provider.with_batch_exporter(exporter).build())))
    }

    pub(super) fn tracer(&self) -> SdkTracer {
        self.0.tracer("ratescope")
    }

    /// Sends the spans that wait.
    pub(super) fn end(&self) {
        if let Err(error) = self.0.shutdown_with_timeout(LAST) {
            tracing::warn!(target: "ratescope", "the last spans may be lost: {error}");
        }
    }
}

/// The value of a variable of the environment, if it is not empty.
fn set(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Reads the address of a collector.
pub(super) fn collector(text: &str) -> Result<String, String> {
    let is_url = ["http://", "https://"].iter().any(|scheme| text.starts_with(scheme));
    let help =
        "write the address of a collector that takes OTLP by gRPC, as in http://127.0.0.1:4317";
    is_url.then(|| text.to_owned()).ok_or_else(|| help.to_owned())
}

/// The span of the client that a request names; `None` without one, or while no spans are taken.
pub(super) fn parent(headers: &HeaderMap) -> Option<Context> {
    if !IS_ON.load(Ordering::Relaxed) {
        return None;
    }
    let parent =
        TraceContextPropagator::new().extract_with_context(&Context::new(), &Headers(headers));
    parent.span().span_context().is_valid().then_some(parent)
}

/// Runs a call whose spans belong to this one.
pub(super) async fn within<F: Future>(parent: Option<Context>, call: F) -> F::Output {
    let mut call = pin!(call);
    poll_fn(|context| {
        let _current = parent.clone().map(Context::attach);
        call.as_mut().poll(context)
    })
    .await
}

struct Headers<'a>(&'a HeaderMap);

impl Extractor for Headers<'_> {
    fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.to_str().ok()
    }

    fn keys(&self) -> Vec<&str> {
        self.0.keys().map(|name| name.as_str()).collect()
    }
}
