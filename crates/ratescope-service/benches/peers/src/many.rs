//! Calls of a million users by Zipf's law, as cheap for the sender as those of h2load, which can send only one message.
//! The frames of HTTP/2 are written by hand: 8 streams on each of 8 connections.

use crate::peers;
use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;

const USERS: f64 = 1e6;
const CONNECTIONS: u64 = 8;
const STREAMS: u32 = 8;

/// Types and flags of frames. Source: RFC 9113, chapter 6.
const DATA: u8 = 0;
const HEADERS: u8 = 1;
const SETTINGS: u8 = 4;
const WINDOW_UPDATE: u8 = 8;
const END_STREAM: u8 = 1;
const ACK: u8 = 1;
const END_HEADERS: u8 = 4;

/// Sends calls for so many seconds, and prints how many were answered OK, and within how many microseconds half of them
/// and all but a hundredth.
pub fn send(at: &str, seconds: &str) -> Result<(), Box<dyn Error>> {
    let (at, lasts) = (at.parse()?, Duration::from_secs_f64(seconds.parse()?));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let times = runtime.block_on(async {
        let mut all = JoinSet::new();
        for connection in 0..CONNECTIONS {
            all.spawn(
                async move { connect(at, connection, lasts).await.map_err(|it| it.to_string()) },
            );
        }
        let mut times: Vec<u64> = Vec::new();
        while let Some(each) = all.join_next().await {
            times.extend(each??);
        }
        Ok::<_, Box<dyn Error>>(times)
    });
    let mut times = times?;
    times.sort_unstable();
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied().unwrap_or(0);
    println!("{} {} {}", times.len(), at(0.5), at(0.99));
    Ok(())
}

/// The time of each call.
async fn connect(at: SocketAddr, number: u64, lasts: Duration) -> Result<Vec<u64>, Box<dyn Error>> {
    let mut stream = TcpStream::connect(at).await?;
    stream.set_nodelay(true)?;
    let mut out = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec();
    frame(&mut out, SETTINGS, 0, 0, &[]);
    frame(&mut out, WINDOW_UPDATE, 0, 0, &(i32::MAX - 65_535).to_be_bytes());
    let begun = Instant::now();
    let (mut random, mut next, mut times) = (number * 2 + 1, 1, Vec::new());
    let mut sent = Vec::new();
    for _ in 0..STREAMS {
        sent.push((next, Instant::now()));
        call(&mut out, at, next, &mut random);
        next += 2;
    }
    let (mut unread, mut ok) = (Vec::new(), 0);
    let mut bytes = vec![0; 1 << 16];
    while !sent.is_empty() {
        stream.write_all(&out).await?;
        out.clear();
        let n = stream.read(&mut bytes).await?;
        if n == 0 {
            return Err("the connection ended".into());
        }
        unread.extend_from_slice(&bytes[..n]);
        let mut rest = unread.as_slice();
        while let Some((head, after)) = rest.split_first_chunk::<9>() {
            let [a, b, c, kind, flags, id @ ..] = *head;
            let length = u32::from_be_bytes([0, a, b, c]) as usize;
            let Some((payload, after)) = after.split_at_checked(length) else { break };
            rest = after;
            match kind {
                SETTINGS if flags & ACK == 0 => frame(&mut out, SETTINGS, ACK, 0, &[]),
                // A message begins with the code OK.
                DATA if payload.get(5..7) == Some(&[8, 1]) => ok += 1,
                _ => {}
            }
            if matches!(kind, DATA | HEADERS) && flags & END_STREAM != 0 {
                let id = u32::from_be_bytes(id);
                let place = sent.iter().position(|one| one.0 == id).ok_or("an unknown stream")?;
                times.push(sent.swap_remove(place).1.elapsed().as_micros() as u64);
                if begun.elapsed() < lasts {
                    sent.push((next, Instant::now()));
                    call(&mut out, at, next, &mut random);
                    next += 2;
                }
            }
        }
        unread.drain(..unread.len() - rest.len());
    }
    if ok != times.len() {
        return Err(format!("{ok} of {} calls were answered OK", times.len()).into());
    }
    Ok(times)
}

/// Adds a call of a user.
fn call(out: &mut Vec<u8>, at: SocketAddr, id: u32, random: &mut u64) {
    *random ^= *random << 13;
    *random ^= *random >> 7;
    *random ^= *random << 17;
    // By Zipf's law with the exponent 1, a user below n has the probability ln n / ln N.
    let user = USERS.powf((*random >> 11) as f64 / (1u64 << 53) as f64) as u32;
    frame(out, HEADERS, END_HEADERS, id, &headers(id == 1, at));
    frame(out, DATA, END_STREAM, id, &peers::frame(&peers::question(user, 1)));
}

/// The headers of a call. Those of the first call go into the table of the connection, where the others find them.
/// Source: RFC 7541.
fn headers(is_first: bool, at: SocketAddr) -> Vec<u8> {
    // POST and http.
    let mut block = vec![0x83, 0x86];
    if !is_first {
        block.extend([0x80 | 65, 0x80 | 64, 0x80 | 63, 0x80 | 62]);
        return block;
    }
    let text = |text: &str, block: &mut Vec<u8>| {
        block.push(text.len() as u8);
        block.extend_from_slice(text.as_bytes());
    };
    for (name, value) in [(4, peers::PATH), (1, at.to_string().as_str()), (31, "application/grpc")]
    {
        block.push(0x40 | name);
        text(value, &mut block);
    }
    block.push(0x40);
    text("te", &mut block);
    text("trailers", &mut block);
    block
}

fn frame(out: &mut Vec<u8>, kind: u8, flags: u8, stream: u32, payload: &[u8]) {
    out.extend_from_slice(&(payload.len() as u32).to_be_bytes()[1..]);
    out.extend([kind, flags]);
    out.extend_from_slice(&stream.to_be_bytes());
    out.extend_from_slice(payload);
}
