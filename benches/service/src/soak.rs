//! Minutes of load with Live open, while keys come and go: `./scripts/soak service`.

use crate::program::{Load, Program};
use std::error::Error;
use std::path::Path;

/// More users than there is room for, so that each that comes makes another go.
const USERS: u32 = 400_000;
const ROOM: &str = "100000";

/// The seconds between two looks at the memory.
const SLICE: &str = "10";

/// Puts load on the service, prints its memory, and fails if that grows in the second half.
pub fn soak(ours: &str, minutes: f64, folder: &Path) -> Result<(), Box<dyn Error>> {
    let rules = folder.join("rules.yaml");
    std::fs::write(&rules, "domain: web\ndescriptors:\n- {key: user, limit: gcra 10/1m}\n")?;
    let program = Program::ours(ours, &rules, &["--keys", ROOM])?.with_viewer()?;
    let load = Load::http(folder, program.http, USERS)?;
    println!("| minutes | requests/s | 99 % | memory | keys |\n|--:|--:|--:|--:|--:|");
    let mut memory = Vec::new();
    for slice in 1..=(minutes * 6.0).ceil() as usize {
        let (seen, kib) = (load.run(&program, SLICE)?, program.memory()?);
        memory.push(kib);
        let keys = program.metric("\nratescope_keys ")?;
        let (at, rate, most) = (slice as f64 / 6.0, seen.rate, seen.most / 1e3);
        println!("| {at:.1} | {rate:.0} | {most:.2} ms | {:.1} MB | {keys} |", kib / 1e3);
    }
    let (first, second) = memory.split_at(memory.len() / 2);
    let most = |half: &[f64]| half.iter().copied().fold(0.0, f64::max);
    if most(second) > 1.05 * most(first) {
        return Err("its memory grew in the second half".into());
    }
    Ok(())
}
