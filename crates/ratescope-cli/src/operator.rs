//! Asks the admin port of a running service.

use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

/// How long to wait for each step.
const PATIENCE: Duration = Duration::from_secs(10);

/// The longest answer in bytes.
const LONGEST: u64 = 16 << 20;

/// The status and the body of the answer; the error names the address.
pub(crate) fn ask(
    at: &str,
    method: &str,
    path: &str,
    token: Option<&str>,
) -> Result<(u16, String), String> {
    let answer = answer(at, method, path, token)
        .map_err(|error| format!("{at}: {error}; ratescope run listens there with --admin"))?;
    let (head, body) = answer.split_once("\r\n\r\n").unwrap_or((&answer, ""));
    let status = head.strip_prefix("HTTP/1.1 ").and_then(|rest| rest.get(..3)?.parse().ok());
    let status = status.ok_or_else(|| format!("{at}: its answer is not HTTP"))?;
    Ok((status, body.to_owned()))
}

fn answer(at: &str, method: &str, path: &str, token: Option<&str>) -> io::Result<String> {
    let at = at.strip_prefix("http://").unwrap_or(at).trim_end_matches('/');
    let address = at.to_socket_addrs()?.next();
    let address = address.ok_or_else(|| io::Error::other("it has no address"))?;
    let mut stream = TcpStream::connect_timeout(&address, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    stream.set_write_timeout(Some(PATIENCE))?;
    let token =
        token.map_or_else(String::new, |token| format!("authorization: Bearer {token}\r\n"));
    write!(stream, "{method} {path} HTTP/1.1\r\nhost: {at}\r\nconnection: close\r\n{token}\r\n")?;
    let mut answer = String::new();
    stream.take(LONGEST).read_to_string(&mut answer)?;
    Ok(answer)
}
