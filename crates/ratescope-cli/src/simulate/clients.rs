//! `simulate --clients`: clients with a job, against each limiter by themselves.

use crate::terminal::until_closed;
use ratescope::Rate;
use ratescope_lab::compare::{Comparison, Settings};
use ratescope_lab::lane::processes::Processes;
use ratescope_lab::run::Named;
use ratescope_lab::view::compare::{Job, job, told};
use std::error::Error;
use std::io::{self, Write};

/// How long clients are followed, at most.
const LONGEST: f64 = 3600.0;

/// The work between two looks whether all jobs are done.
const STEP: usize = 100_000;

/// Runs the jobs until all are done, or for an hour, and prints the numbers of each limiter.
pub(super) fn run(
    lanes: &[String],
    clients: &str,
    seed: u64,
    processes: Processes,
) -> Result<(), Box<dyn Error>> {
    let mut settings = Settings::default();
    settings.set("auto", "off")?;
    settings.set("seed", &seed.to_string())?;
    settings.set("lanes", &lanes.join(";"))?;
    settings.set("script", clients)?;
    settings.processes = processes;
    if settings.script.jobs().next().is_none() {
        return Err(
            "--clients has no clients; write some, such as \"10 clients of 20 retry at once\""
                .into(),
        );
    }
    let mut run = Comparison::new(settings)?;
    let end = ratescope::Time::try_from_secs_f64(LONGEST)?;
    let is_done = |run: &Comparison| {
        run.lanes().iter().all(|lane| lane.crowd().is_none_or(|crowd| crowd.left() == 0))
    };
    while run.now() < end && !is_done(&run) {
        run.advance(end.min(run.now().after(ratescope::Span::from_secs(1))), STEP);
    }
    until_closed(print(&run, &mut io::stdout().lock()))?;
    Ok(())
}

/// The rate against which the load of a lane is measured: the quota of its first limit.
fn limit(lane: &ratescope_lab::compare::Lane) -> Rate {
    let first = lane.policy().limits().first();
    first.and_then(|limit| limit.limiter.quota()).unwrap_or(Rate::TEN_IN_TEN_SECONDS)
}

fn print(run: &Comparison, out: &mut impl Write) -> io::Result<()> {
    const HEADS: [&str; 8] = [
        "limiter",
        "job done",
        "sent for each passed",
        "longest wait",
        "load",
        "busiest second",
        "sent again",
        "clients done",
    ];
    let rows = run.lanes().iter().filter_map(|lane| {
        let Job { done, sent, longest, load, busiest, retries, spread } = job(lane, limit(lane))?;
        Some([lane.template().to_string(), done, sent, longest, load, busiest, retries, spread])
    });
    let rows: Vec<[String; 8]> = std::iter::once(HEADS.map(str::to_owned)).chain(rows).collect();
    let wide = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let widths: [usize; 8] = std::array::from_fn(wide);
    for row in &rows {
        let cells = row.iter().zip(widths).map(|(cell, width)| format!("{cell:width$}"));
        writeln!(out, "{}", cells.collect::<Vec<_>>().join("  ").trim_end())?;
    }
    for lane in run.lanes() {
        if let Some(shared) = lane.shared() {
            writeln!(out, "{}: {}", lane.template(), told(shared))?;
        }
    }
    Ok(())
}
