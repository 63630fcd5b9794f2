//! A job that may send three mails a day, however often it is started.
//!
//! `cargo run -p ratescope --example restart -- /tmp/states`

use ratescope::{Event, MemoryStore, Policy, Time, files};
use std::error::Error;
use std::path::Path;
use std::time::SystemTime;

/// Larger files are not states of this job.
const LONGEST: u64 = 1 << 20;

/// Sends two mails, as far as they may be sent, and returns how many they were.
fn job(states: &Path, now: Time) -> Result<usize, Box<dyn Error>> {
    let policy: Policy = "fixed-window 3/1d per recipient".parse()?;
    let store = match files::read(states, LONGEST)? {
        Some(bytes) => MemoryStore::restore(policy, 1000, &bytes)?,
        None => MemoryStore::new(policy, 1000), // the first time
    };
    let mail = Event { time: now, cost: 1.0, fields: &[("recipient", "ann")] };
    let sent = [&mail; 2].iter().filter(|mail| store.check(mail).is_allowed()).count();
    files::write(states, &store.save(now))?;
    Ok(sent)
}

fn main() -> Result<(), Box<dyn Error>> {
    let states = std::env::args().nth(1).ok_or("usage: restart FILE")?;
    println!("{} sent", job(Path::new(&states), SystemTime::now().into())?);
    Ok(())
}

#[test]
fn three_mails_a_day() -> Result<(), Box<dyn Error>> {
    let states = std::env::temp_dir().join(format!("restart-states-{}", std::process::id()));
    let _ = std::fs::remove_file(&states);
    let day = |day: i64| Time::from_micros(day * 86_400_000_000);
    let sent: Result<Vec<usize>, _> =
        [0, 0, 0, 1].map(|n| job(&states, day(n))).into_iter().collect();
    assert_eq!(sent?, [2, 1, 0, 2]);
    // A file that is cut is refused, and not taken for an empty one.
    let bytes = std::fs::read(&states)?;
    std::fs::write(&states, &bytes[..bytes.len() / 2])?;
    let error = job(&states, day(1)).map_err(|error| error.to_string());
    assert_eq!(error, Err("the saved states were cut or changed".to_owned()));
    Ok(std::fs::remove_file(&states)?)
}
