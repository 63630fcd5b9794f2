//! Starts the program on free ports, and calls it.

use super::requests::framed;
use super::shell::{Folder, Running, command};
use ratescope_service::{RateLimitRequest, RateLimitResponse};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Stdio;
use std::sync::atomic::{AtomicU32, Ordering};

pub(crate) struct Program {
    pub(crate) running: Running,
    pub(crate) grpc: SocketAddr,
    pub(crate) http: SocketAddr,
    pub(crate) admin: SocketAddr,
    _folder: Option<Folder>,
}

impl Program {
    /// Starts it with these rules.
    pub(crate) fn of(rules: &str, args: &[&str]) -> Self {
        static STARTED: AtomicU32 = AtomicU32::new(0);
        let folder = Folder::new(&format!("run-{}", STARTED.fetch_add(1, Ordering::Relaxed)));
        let program = Program::start(&folder.write("rules.yaml", rules), args);
        Program { _folder: Some(folder), ..program }
    }

    pub(crate) fn start(rules: &Path, args: &[&str]) -> Self {
        Program::start_in(rules, args, &[])
    }

    /// Starts it with these variables in its environment.
    pub(crate) fn start_in(rules: &Path, args: &[&str], variables: &[(&str, &str)]) -> Self {
        let free = "127.0.0.1:0";
        let mut usual =
            vec![("--grpc", free), ("--http", free), ("--admin", free), ("--notice", "0s")];
        if args.contains(&"--store") {
            // On a busy machine an answer of Redis may take longer than the default, and the process would decide.
            usual.push(("--deadline", "1h"));
        }
        let usual = usual.into_iter().filter(|(option, _)| !args.contains(option));
        let mut child = command(&["run"])
            .args(usual.flat_map(|(option, value)| [option, value]))
            .args(args)
            .envs(variables.iter().copied())
            .arg(rules)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        BufReader::new(child.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let scheme = if args.contains(&"--tls-cert") { "https://" } else { "http://" };
        let at = |name: &str| {
            let rest = line.split(name).nth(1).unwrap_or_else(|| panic!("{name} in {line:?}"));
            let at = rest.split([',', '\n']).next().unwrap();
            at.trim_start_matches(scheme).trim_start_matches("http://").parse().unwrap()
        };
        let admin = at("admin at ");
        let (grpc, http) = (at("gRPC at "), at("HTTP at "));
        Program { running: Running(child), grpc, http, admin, _folder: None }
    }
}

impl Program {
    /// Ends the program; returns its log.
    #[cfg(unix)]
    pub(crate) fn ended(mut self) -> String {
        self.running.signal("TERM");
        let mut log = String::new();
        self.running.0.stderr.take().unwrap().read_to_string(&mut log).unwrap();
        assert!(self.running.0.wait().unwrap().success(), "{log}");
        log
    }
}

/// Sends an HTTP/1 request on a new connection, and returns the whole answer.
pub(crate) fn http(at: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(at).unwrap();
    stream.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

/// Sends a GET; returns the status and the whole answer.
pub(crate) fn get(at: SocketAddr, path: &str, headers: &str) -> (u16, String) {
    get_by("localhost", at, path, headers)
}

/// Does the same by another name of the host.
pub(crate) fn get_by(host: &str, at: SocketAddr, path: &str, headers: &str) -> (u16, String) {
    let head = format!("GET {path} HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\n{headers}");
    let answer = http(at, &format!("{head}\r\n"));
    let status = answer.split(' ').nth(1).unwrap_or_else(|| panic!("{answer:?}"));
    (status.parse().unwrap(), answer)
}

/// A connection for gRPC.
pub(crate) struct Channel(h2::client::SendRequest<bytes::Bytes>, SocketAddr, http::HeaderMap);

impl Channel {
    pub(crate) async fn open(at: SocketAddr) -> Self {
        Channel::by(&h2::client::Builder::new(), at).await
    }

    /// A connection with these settings of HTTP/2.
    pub(crate) async fn by(settings: &h2::client::Builder, at: SocketAddr) -> Self {
        let stream = tokio::net::TcpStream::connect(at).await.unwrap();
        let (send, connection) = settings.handshake(stream).await.unwrap();
        tokio::spawn(connection);
        Channel(send, at, http::HeaderMap::new())
    }

    /// A connection over a stream that leads there.
    pub(crate) async fn over(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        at: SocketAddr,
    ) -> Self {
        Channel::try_over(stream, at).await.unwrap()
    }

    /// The same, to a server that may have ended.
    pub(crate) async fn try_over(
        stream: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin + Send + 'static,
        at: SocketAddr,
    ) -> Result<Self, h2::Error> {
        let (send, connection) = h2::client::handshake(stream).await?;
        tokio::spawn(connection);
        Ok(Channel(send, at, http::HeaderMap::new()))
    }

    /// Sends this metadata with each call.
    pub(crate) fn with(mut self, name: &'static str, value: &'static str) -> Self {
        self.2.insert(name, http::HeaderValue::from_static(value));
        self
    }

    /// Begins a call, and does not send its message yet.
    pub(crate) async fn begin(
        &mut self,
        path: &str,
    ) -> (h2::client::ResponseFuture, h2::SendStream<bytes::Bytes>) {
        self.try_begin(path, "1H").await.unwrap()
    }

    /// Does the same with the time limit `within` for the answer, in the notation of gRPC.
    pub(crate) async fn try_begin(
        &mut self,
        path: &str,
        within: &str,
    ) -> Result<(h2::client::ResponseFuture, h2::SendStream<bytes::Bytes>), h2::Error> {
        let mut request = http::Request::post(format!("http://{}{path}", self.1))
            .header("content-type", "application/grpc")
            .header("te", "trailers")
            .header("grpc-timeout", within)
            .body(())
            .unwrap();
        request.headers_mut().extend(self.2.clone());
        self.0.clone().ready().await?.send_request(request, false)
    }

    /// Calls with the bytes of a message; returns the code of gRPC and the bytes of the answer.
    pub(crate) async fn call(&mut self, path: &str, message: &[u8]) -> (u32, Vec<u8>) {
        self.try_call(path, message).await.unwrap()
    }

    /// Does the same with a server that may end meanwhile.
    pub(crate) async fn try_call(
        &mut self,
        path: &str,
        message: &[u8],
    ) -> Result<(u32, Vec<u8>), h2::Error> {
        let (answer, mut body) = self.try_begin(path, "1H").await?;
        // The server may refuse a long message before all of it is sent.
        _ = body.send_data(framed(message), true);
        let (head, mut body) = answer.await?.into_parts();
        let mut bytes = Vec::new();
        while let Some(part) = body.data().await {
            let part = part?;
            body.flow_control().release_capacity(part.len())?;
            bytes.extend(part);
        }
        let trailers = body.trailers().await?;
        let status =
            head.headers.get("grpc-status").or_else(|| trailers.as_ref()?.get("grpc-status"));
        let code = status.unwrap().to_str().unwrap().parse().unwrap();
        Ok((code, bytes.get(5..).unwrap_or_default().to_vec()))
    }

    /// Asks for a decision; the error is the code of gRPC.
    pub(crate) async fn should_rate_limit(
        &mut self,
        request: &RateLimitRequest,
    ) -> Result<RateLimitResponse, u32> {
        self.try_should_rate_limit(request).await.unwrap()
    }

    /// Does the same with a server that may end meanwhile.
    pub(crate) async fn try_should_rate_limit(
        &mut self,
        request: &RateLimitRequest,
    ) -> Result<Result<RateLimitResponse, u32>, h2::Error> {
        let message = prost::Message::encode_to_vec(request);
        Ok(match self.try_call(SHOULD_RATE_LIMIT, &message).await? {
            (0, answer) => Ok(prost::Message::decode(answer.as_slice()).unwrap()),
            (code, _) => Err(code),
        })
    }
}

pub(crate) const SHOULD_RATE_LIMIT: &str =
    "/envoy.service.ratelimit.v3.RateLimitService/ShouldRateLimit";
