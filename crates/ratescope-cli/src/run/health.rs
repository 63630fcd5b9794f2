//! The health of the service: whether it decides and counts.
//!
//! Green: by the rules of all files, and counted in the store. Yellow: decisions are made, but by earlier rules, without
//! the store, or without rules. Red: a file has no rules in force.

use super::state::StateFile;
use super::tls::Tls;
use ratescope::Span;
use ratescope::internal::plural;
use ratescope::rules::{Fault, Memory};
use ratescope_service::Service;
use std::fmt::Write;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

pub(super) struct Health {
    service: Arc<Service>,
    /// How long a decision waits for Redis, if the states are there.
    deadline: Option<Span>,
    tls: Option<Arc<Tls>>,
    state: Option<Arc<StateFile>>,
    /// The last ping of the store.
    pinged: Mutex<Option<Pinged>>,
}

#[derive(Clone)]
struct Pinged {
    at: Instant,
    took: Duration,
    fault: Option<Fault>,
}

impl Health {
    pub(super) fn new(
        service: Arc<Service>,
        deadline: Option<Span>,
        tls: Option<Arc<Tls>>,
        state: Option<Arc<StateFile>>,
    ) -> Self {
        Health { service, deadline, tls, state, pinged: Mutex::default() }
    }

    /// Why the states were not saved the last time.
    fn unsaved(&self) -> Option<String> {
        self.state.as_ref()?.problem()
    }

    /// Asks whether the store answers.
    pub(super) async fn ping(&self) {
        let begun = Instant::now();
        let fault = self.service.ping().await.err();
        let pinged = Pinged { at: Instant::now(), took: begun.elapsed(), fault };
        *self.pinged.lock().unwrap_or_else(PoisonError::into_inner) = Some(pinged);
    }

    pub(super) fn is_green(&self) -> bool {
        self.problems().is_empty()
    }

    /// A line for each problem, or one that says that there is none.
    pub(super) fn summary(&self) -> String {
        let mut text = self.problems();
        if text.is_empty() {
            text += "green: all rules are in force\n";
        }
        text
    }

    fn problems(&self) -> String {
        let files = self.service.health();
        let all = files.len();
        let without_rules = files.iter().filter(|f| f.problem.is_some() && !f.is_in_force).count();
        let outdated = files.iter().filter(|f| f.problem.is_some() && f.is_in_force).count();
        let new = files.iter().filter(|f| f.problem.is_none() && !f.is_in_force).count();
        // Writing to a String does not fail.
        let mut text = String::new();
        if without_rules > 0 {
            _ = writeln!(
                text,
                "red: mistakes in {without_rules} of {all} files, which have no rules in force"
            );
        }
        if outdated > 0 {
            _ = writeln!(
                text,
                "yellow: problems with {outdated} of {all} files, whose earlier rules stay in force"
            );
        }
        if new > 0 {
            _ = writeln!(text, "yellow: {new} of {all} files are new, and not in force yet");
        }
        if self.service.rules().is_empty() {
            text += "yellow: no rules are in force, and every request passes\n";
        }
        if self.tls.as_ref().is_some_and(|tls| tls.problem().is_some()) {
            text += "yellow: the files of TLS are wrong, and the old certificate stays in force\n";
        }
        if self.unsaved().is_some() {
            text += "yellow: the states are not saved, and a restart would lose what was counted since\n";
        }
        if let Some(fault) = self.service.fault() {
            let fault = with_cause(&fault);
            _ = writeln!(text, "yellow: {fault}; each rule decides as its on_store_failure says");
        }
        text
    }

    /// The summary, and the state of each file, of the store, and of the memory.
    pub(super) fn report(&self) -> String {
        let mut text = self.summary();
        for file in self.service.health() {
            let fine = if file.is_in_force { "ok" } else { "waits for the next look" };
            let status = file.problem.as_deref().unwrap_or(fine);
            _ = writeln!(text, "{}: {status}", file.path.display());
        }
        if let Some(problem) = self.tls.as_ref().and_then(|tls| tls.problem()) {
            _ = writeln!(text, "TLS: {problem}");
        }
        if let Some(problem) = self.unsaved() {
            _ = writeln!(text, "states: {problem}");
        }
        if let Some(deadline) = self.deadline {
            let pinged = self.pinged.lock().unwrap_or_else(PoisonError::into_inner).clone();
            let status = match pinged {
                None => "not asked yet".to_owned(),
                Some(Pinged { at, took, fault }) => {
                    let ago = at.elapsed().as_secs_f64();
                    let ms = took.as_secs_f64() * 1e3;
                    let said = match fault {
                        Some(fault) => with_cause(&fault),
                        None if Span::from(took) > deadline => {
                            format!(
                                "ok, but a decision waits for at most {deadline}: see --deadline"
                            )
                        }
                        None => "ok".to_owned(),
                    };
                    format!("asked {ago:.1} s ago, which took {ms:.1} ms: {said}")
                }
            };
            _ = writeln!(text, "Redis: {status}");
        }
        for (domain, Memory { keys, evicted, .. }) in self.service.memory() {
            let s = plural(keys as u64);
            _ = writeln!(text, "{domain}: {keys} key{s} in memory, {evicted} evicted");
        }
        text
    }
}

fn with_cause(fault: &Fault) -> String {
    match fault.cause() {
        Some(cause) => format!("{fault}: {cause}"),
        None => fault.to_string(),
    }
}
