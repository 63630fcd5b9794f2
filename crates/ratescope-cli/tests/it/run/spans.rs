//! Spans, as a collector of OpenTelemetry is told them.

use super::program::{Channel, Program, get};
use super::requests::{descriptor, request};
use super::server::Server;
use super::shell::{Folder, command, text};
use opentelemetry_proto::tonic::collector::trace::v1::trace_service_server::{
    TraceService, TraceServiceServer,
};
use opentelemetry_proto::tonic::collector::trace::v1::{
    ExportTraceServiceRequest, ExportTraceServiceResponse,
};
use opentelemetry_proto::tonic::common::v1::KeyValue;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use opentelemetry_proto::tonic::trace::v1::status::StatusCode;
use ratescope_service::Code;
use std::net::TcpListener;
use tokio::sync::mpsc;
use tonic::transport::server::TcpIncoming;

const RULES: &str = "domain: web\ndescriptors:\n- {key: user, limit: gcra 1/52w}\n";

const CLOSED: &str = "
domain: web
descriptors:
- {key: user, limit: gcra 1/52w, on_store_failure: refuse}
";

/// Takes spans, and passes them on with the resource that sent them.
struct Collector(mpsc::UnboundedSender<ExportTraceServiceRequest>);

#[tonic::async_trait]
impl TraceService for Collector {
    async fn export(
        &self,
        request: tonic::Request<ExportTraceServiceRequest>,
    ) -> Result<tonic::Response<ExportTraceServiceResponse>, tonic::Status> {
        self.0.send(request.into_inner()).unwrap();
        Ok(tonic::Response::new(ExportTraceServiceResponse::default()))
    }
}

/// A collector: its address, and the spans that it is sent.
fn collector() -> (String, mpsc::UnboundedReceiver<ExportTraceServiceRequest>) {
    let incoming = TcpIncoming::bind("127.0.0.1:0".parse().unwrap()).unwrap();
    let at = format!("http://{}", incoming.local_addr().unwrap());
    let (tell, told) = mpsc::unbounded_channel();
    let server = tonic::transport::Server::builder();
    let served = server.clone().add_service(TraceServiceServer::new(Collector(tell)));
    tokio::spawn(served.serve_with_incoming(incoming));
    (at, told)
}

fn value<'a>(of: &'a [KeyValue], name: &str) -> &'a str {
    let found = of.iter().find(|pair| pair.key == name);
    match found.and_then(|pair| pair.value.as_ref()?.value.as_ref()) {
        Some(Value::StringValue(text)) => text,
        other => panic!("{name}: {other:?} in {of:?}"),
    }
}

/// The spans of a program that has ended. Each has to come from the service `name`.
fn spans(told: &mut mpsc::UnboundedReceiver<ExportTraceServiceRequest>, name: &str) -> Vec<Span> {
    let mut all = Vec::new();
    while let Ok(request) = told.try_recv() {
        for of_resource in request.resource_spans {
            let resource = of_resource.resource.unwrap().attributes;
            assert_eq!(value(&resource, "service.name"), name);
            assert_eq!(value(&resource, "service.version"), env!("CARGO_PKG_VERSION"));
            all.extend(of_resource.scope_spans.into_iter().flat_map(|scope| scope.spans));
        }
    }
    all
}

const TRACE: [&str; 2] = ["0af7651916cd43dd8448eb211c80319c", "11111111111111111111111111111111"];

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A decision is a span, and so is the call to Redis within it, in the trace of the request, by HTTP and by gRPC.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_decision_and_its_call_to_redis_are_spans_of_the_trace_of_the_request() {
    let Some(redis) = Server::start(&[]) else { return };
    let (at, mut told) = collector();
    let program =
        Program::of(RULES, &["--store", &redis.url(), "--otlp", &at, "--field", "user=x-user"]);
    let parent = format!("traceparent: 00-{}-b7ad6b7169203331-01\r\n", TRACE[0]);
    assert_eq!(get(program.http, "/check?user=ann", &parent).0, 200);
    assert_eq!(get(program.http, "/check?domain=web&user=ann", &parent).0, 429);
    let parent = "00-11111111111111111111111111111111-2222222222222222-01";
    let mut channel = Channel::open(program.grpc).await.with("traceparent", parent);
    let eve = request(vec![descriptor(&[("user", "eve")])]);
    for code in [Code::Ok, Code::OverLimit] {
        assert_eq!(channel.should_rate_limit(&eve).await.unwrap().overall_code(), code);
    }
    assert_eq!(channel.should_rate_limit(&request(vec![])).await, Err(3));
    // Of a trace that is not sampled nothing is sent, and a header that is no trace begins one.
    let unsampled = "traceparent: 00-33333333333333333333333333333333-4444444444444444-00\r\n";
    assert_eq!(get(program.http, "/check?user=bob", unsampled).0, 200);
    assert_eq!(get(program.http, "/auth", "traceparent: nonsense\r\n").0, 200);
    assert_eq!(get(program.http, "/check?domain=elsewhere", "").0, 200);
    program.ended();

    let all = spans(&mut told, "ratescope");
    let decisions = |trace: &str| -> Vec<&Span> {
        let own = all.iter().filter(|span| hex(&span.trace_id) == trace);
        own.filter(|span| span.name == "decision").collect()
    };
    for (trace, parent, outcomes) in [
        (TRACE[0], "b7ad6b7169203331", &["allowed", "refused"][..]),
        (TRACE[1], "2222222222222222", &["allowed", "refused", "error"]),
    ] {
        let own = decisions(trace);
        let outcome = |span: &&Span| value(&span.attributes, "outcome").to_owned();
        assert_eq!(own.iter().map(outcome).collect::<Vec<_>>(), outcomes);
        for span in own {
            assert_eq!(hex(&span.parent_span_id), parent);
            assert_eq!(span.kind, SpanKind::Server as i32);
            assert!(span.start_time_unix_nano <= span.end_time_unix_nano);
            let calls = all.iter().filter(|call| call.parent_span_id == span.span_id);
            let calls: Vec<&Span> = calls.collect();
            let is_error = outcome(&span) == "error";
            assert_eq!(calls.len(), usize::from(!is_error));
            let status = span.status.as_ref().map_or(0, |status| status.code);
            assert_eq!(status == StatusCode::Error as i32, is_error);
            for call in calls {
                assert_eq!((call.name.as_str(), hex(&call.trace_id).as_str()), ("redis", trace));
                assert_eq!(call.kind, SpanKind::Client as i32);
                assert_eq!(value(&call.attributes, "db.system.name"), "redis");
            }
        }
    }
    assert!(decisions("33333333333333333333333333333333").is_empty());
    let roots = all.iter().filter(|span| span.name == "decision" && span.parent_span_id.is_empty());
    let domains: Vec<&str> = roots.map(|span| value(&span.attributes, "domain")).collect();
    assert_eq!(domains, ["", "elsewhere"]);
}

/// The variables of the ecosystem name the collector and the service, or turn spans off. A call to Redis that fails says
/// why.
#[cfg(unix)]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_environment_names_the_collector() {
    let (at, mut told) = collector();
    let nobody = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    let store = format!("redis://{nobody}");
    let folder = Folder::new("spans");
    let rules = folder.write("rules.yaml", CLOSED);
    let ask = |variables: &[(&str, &str)]| {
        let program = Program::start_in(&rules, &["--store", &store], variables);
        assert_eq!(get(program.http, "/check?user=ann", "").0, 503);
        program.ended();
    };
    let endpoint = ("OTEL_EXPORTER_OTLP_ENDPOINT", at.as_str());
    ask(&[endpoint, ("OTEL_SERVICE_NAME", "limits")]);
    let all = spans(&mut told, "limits");
    let named = |name: &str| all.iter().find(|span| span.name == name).unwrap();
    assert_eq!(value(&named("decision").attributes, "outcome"), "error");
    let status = named("redis").status.as_ref().unwrap();
    assert_eq!(status.code, StatusCode::Error as i32);
    assert!(!status.message.is_empty());
    for off in [("OTEL_SDK_DISABLED", "true"), ("OTEL_TRACES_EXPORTER", "none")] {
        ask(&[endpoint, off]);
        assert!(told.try_recv().is_err(), "{off:?}");
    }
    let wrong = |args: &[&str], variable: (&str, &str), says: &str| {
        let mut run = command(&["run", "--http", "127.0.0.1:0", "--grpc", "off", "--admin", "off"]);
        let output = run.arg(&rules).args(args).envs([variable]).output().unwrap();
        let error = text(&output.stderr);
        assert!(!output.status.success() && error.contains(says), "{says} in {error}");
    };
    wrong(&["--otlp", "collector:4317"], endpoint, "as in http://127.0.0.1:4317");
    let protocol = ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/protobuf");
    wrong(&["--otlp", &at], protocol, "spans are sent by grpc only: write grpc");
}

/// A collector that is silent holds up no decision, and the end no longer than two seconds.
#[cfg(unix)]
#[test]
fn a_silent_collector_holds_up_nothing() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let at = format!("http://{}", silent.local_addr().unwrap());
    let program = Program::of(RULES, &["--otlp", &at]);
    assert_eq!(get(program.http, "/check?user=ann", "").0, 200);
    assert_eq!(get(program.http, "/check?user=ann", "").0, 429);
    let log = program.ended();
    assert!(log.contains("the last spans may be lost"), "{log}");
}
