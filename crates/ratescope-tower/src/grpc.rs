//! Responses of gRPC to refused requests.
//!
//! Sources: "gRPC over HTTP2" for the trailers; gRPC's proposal A6 for `grpc-retry-pushback-ms`; `google/rpc/status.proto`
//! and `error_details.proto` for the details.

use super::refusal::{Answer, Refused};
use base64::Engine;
use base64::engine::general_purpose::STANDARD_NO_PAD;
use http::header::{CONTENT_TYPE, HeaderValue};
use http::{Response, StatusCode};
use percent_encoding::{AsciiSet, CONTROLS, utf8_percent_encode};
use ratescope::outcome::Retry;
use ratescope::time::Span;

/// Answers with the gRPC status `RESOURCE_EXHAUSTED`, or `UNAVAILABLE` if the store failed, in a
/// response without a body: for tonic, as in `examples/grpc.rs`. An unidentified request gets
/// `UNAUTHENTICATED` for 401, `PERMISSION_DENIED` for 403, and otherwise `INVALID_ARGUMENT`.
///
/// The wait in milliseconds, rounded up, is in `grpc-retry-pushback-ms`, which the retries of gRPC's clients obey, and
/// in the status details as `google.rpc.RetryInfo`. For a request that never passes, `grpc-retry-pushback-ms` is -1: do
/// not retry.
#[derive(Clone, Copy, Debug, Default)]
pub struct GrpcStatus;

impl<B: Default> Answer<B> for GrpcStatus {
    fn answer(&self, refused: &Refused<'_>) -> Response<B> {
        const ESCAPED: &AsciiSet = &CONTROLS.add(b'%');
        let code: u16 = match refused.status() {
            StatusCode::SERVICE_UNAVAILABLE => 14,
            StatusCode::UNAUTHORIZED => 16,
            StatusCode::FORBIDDEN => 7,
            StatusCode::TOO_MANY_REQUESTS => 8,
            _ => 3,
        };
        let mut response = Response::new(B::default());
        let headers = response.headers_mut();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/grpc"));
        headers.insert("grpc-status", code.into());
        let detail = refused.detail();
        let message = utf8_percent_encode(&detail, ESCAPED).to_string();
        if let Ok(message) = HeaderValue::try_from(message) {
            headers.insert("grpc-message", message);
        }
        match refused.retry {
            Some(Retry::After(wait)) => {
                let milliseconds = milliseconds(wait);
                headers.insert("grpc-retry-pushback-ms", milliseconds.into());
                let status = STANDARD_NO_PAD.encode(status(code, &detail, milliseconds));
                if let Ok(status) = HeaderValue::try_from(status) {
                    headers.insert("grpc-status-details-bin", status);
                }
            }
            Some(Retry::Never) => {
                headers.insert("grpc-retry-pushback-ms", HeaderValue::from_static("-1"));
            }
            None => {}
        }
        response
    }
}

/// A wait in milliseconds, rounded up. Clients read 32 bits, which is 24 days.
fn milliseconds(wait: Span) -> u32 {
    let milliseconds = (wait.as_secs_f64() * 1e3).min(i32::MAX.into());
    let whole = milliseconds as u32;
    whole + u32::from(f64::from(whole) < milliseconds)
}

/// A `google.rpc.Status` whose details are a `RetryInfo` with this delay.
fn status(code: u16, message: &str, milliseconds: u32) -> Vec<u8> {
    const RETRY_INFO: &str = "type.googleapis.com/google.rpc.RetryInfo";
    let (seconds, nanos) = (milliseconds / 1000, milliseconds % 1000 * 1_000_000);
    let delay = [number(1, seconds), number(2, nanos)].concat();
    let info = bytes(1, &delay);
    let any = [bytes(1, RETRY_INFO.as_bytes()), bytes(2, &info)].concat();
    [number(1, code.into()), bytes(2, message.as_bytes()), bytes(3, &any)].concat()
}

/// A number as a field of a message of Protocol Buffers. Zero is left out.
fn number(field: u8, number: u32) -> Vec<u8> {
    let mut out = vec![field << 3];
    varint(number, &mut out);
    if number == 0 { Vec::new() } else { out }
}

/// Bytes, a text or a message as a field of a message.
fn bytes(field: u8, bytes: &[u8]) -> Vec<u8> {
    let mut out = vec![field << 3 | 2];
    varint(u32::try_from(bytes.len()).unwrap_or(u32::MAX), &mut out);
    out.extend_from_slice(bytes);
    out
}

fn varint(mut number: u32, out: &mut Vec<u8>) {
    while number > 0x7f {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}
