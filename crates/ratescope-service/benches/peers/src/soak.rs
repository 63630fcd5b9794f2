//! Minutes of load with Live open, while keys come and go: `./scripts/soak service`.

use crate::program::{Load, Program};
use std::error::Error;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::time::Instant;

/// The most keys. New users come all the time, so that others have to go.
const ROOM: &str = "100000";

/// The seconds between two looks at the memory.
const SLICE: &str = "10";

/// The requests that are sent at once for new users.
const BATCH: usize = 64;

/// The counter of all decisions, as the service shows it.
const DECISIONS: &str =
    "\nratescope_hits_total{domain=\"web\",rule=\"web:user\",key1=\"user\",outcome=\"allowed\"} ";

/// Puts load on the service, prints its memory, and fails if that grows in the second half.
pub fn soak(ours: &str, minutes: f64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let rules = folder.join("rules.yaml");
    std::fs::write(&rules, "domain: web\ndescriptors:\n- {key: user, limit: gcra 1000000/1s}\n")?;
    let program = Program::ours(ours, &rules, &["--keys", ROOM])?.with_viewer()?;
    let load = Load::http(folder, program.http, 10_000, 64)?;
    let http = program.http;
    // It ends with the service.
    std::thread::spawn(move || new_users(http));
    println!(
        "| minutes | decisions/s | 99 % | memory | keys | forgotten |\n|--:|--:|--:|--:|--:|--:|"
    );
    let mut memory = Vec::new();
    let mut before = (0.0, Instant::now());
    for slice in 1..=(minutes * 6.0).ceil() as usize {
        let (seen, kib) = (load.run(&program, SLICE)?, program.memory()?);
        memory.push(kib);
        let keys = program.metric("\nratescope_keys{layer=\"web\"} ")?;
        let gone = program.metric("\nratescope_keys_evicted_total{layer=\"web\"} ")?;
        let now = (program.metric(DECISIONS)?, Instant::now());
        let rate = (now.0 - before.0) / (now.1 - before.1).as_secs_f64();
        before = now;
        let (at, most) = (slice as f64 / 6.0, seen.most / 1e3);
        println!("| {at:.1} | {rate:.0} | {most:.2} ms | {:.1} MB | {keys} | {gone} |", kib / 1e3);
    }
    let (first, second) = memory.split_at(memory.len() / 2);
    let most = |half: &[f64]| half.iter().copied().fold(0.0, f64::max);
    if most(second) > 1.05 * most(first) {
        return Err("its memory grew in the second half".into());
    }
    Ok(())
}

/// Sends requests of users who were never seen, as fast as they are answered.
fn new_users(at: SocketAddr) -> Option<()> {
    let mut stream = TcpStream::connect(at).ok()?;
    let mut bytes = [0; 1 << 16];
    for batch in 0_u64.. {
        let request =
            |i| format!("GET /check?domain=web&user=new-{batch}-{i} HTTP/1.1\r\nhost: x\r\n\r\n");
        stream.write_all((0..BATCH).map(request).collect::<String>().as_bytes()).ok()?;
        let mut answers = Vec::new();
        let is_answer = |eight: &&[u8]| **eight == *b"HTTP/1.1";
        while answers.windows(8).filter(is_answer).count() < BATCH {
            let n = stream.read(&mut bytes).ok().filter(|n| *n > 0)?;
            answers.extend_from_slice(&bytes[..n]);
        }
    }
    None
}
