//! Where the clients come from: logs, or summaries of them.

use super::Args;
use ratescope::lab::tune::{Replay, Summary, Trial};
use ratescope::log::csv;
use ratescope::policy::{Defaults, Per};
use ratescope::{Policy, Span};
use std::error::Error;
use std::fs;
use std::io::{self, BufRead, Read as _};
use std::path::Path;

/// What was read.
pub(crate) struct Read {
    pub(crate) summary: Summary,
    pub(crate) tried: Vec<Tried>,
}

/// A limit that was tried on every event.
pub(crate) struct Tried {
    pub(crate) text: String,
    pub(crate) touched: u64,
    pub(crate) refused: u64,
    pub(crate) forgotten: u64,
}

/// Reads logs, one after the other.
pub(crate) fn logs(args: &Args) -> Result<Read, Box<dyn Error>> {
    let mut reading = Reading { summary: None, trials: Vec::new(), args };
    let stdin = [Path::new("-").to_owned()];
    for path in if args.files.is_empty() { &stdin[..] } else { &args.files } {
        let wrong = |e: &dyn Error| format!("{}: {e}", path.display());
        let input: Box<dyn BufRead> = match path.as_os_str() == "-" {
            true => Box::new(io::stdin().lock()),
            false => Box::new(io::BufReader::new(fs::File::open(path).map_err(|e| wrong(&e))?)),
        };
        reading.log(input).map_err(|e| wrong(&*e))?;
    }
    let Reading { summary, trials, .. } = reading;
    let summary = summary.ok_or("there are no logs")?;
    let tried = |(text, trial): &(String, Trial)| Tried {
        text: text.clone(),
        touched: trial.touched(),
        refused: trial.refused(),
        forgotten: trial.forgotten(),
    };
    Ok(Read { summary, tried: trials.iter().map(tried).collect() })
}

struct Reading<'a> {
    summary: Option<Summary>,
    trials: Vec<(String, Trial)>,
    args: &'a Args,
}

impl Reading<'_> {
    fn log(&mut self, input: Box<dyn BufRead + '_>) -> Result<(), Box<dyn Error>> {
        let rows = csv::read(input)?;
        if self.summary.is_none() {
            self.begin(rows.fields())?;
        }
        let Some(Summary { per, lines, unread, clients }) = &mut self.summary else {
            return Ok(());
        };
        for row in rows {
            *lines += 1;
            match row {
                Ok(row) => {
                    let event = row.event();
                    clients.observe(&event, per);
                    self.trials.iter_mut().for_each(|(_, trial)| trial.see(&event, per));
                }
                Err(error) if error.input().is_some() => return Err(error.into()),
                Err(_) => *unread += 1,
            }
        }
        Ok(())
    }

    /// What depends on the fields that the first log has.
    fn begin(&mut self, fields: &[String]) -> Result<(), Box<dyn Error>> {
        let usual = ["key", "ip", "user"].into_iter().find(|name| fields.iter().any(|f| f == name));
        let per = match (&self.args.key, usual) {
            (Some(per), _) => per.clone(),
            (None, Some(name)) => name.parse()?,
            (None, None) => Per::ALL,
        };
        if let Some(name) = per.fields().iter().find(|name| !fields.contains(name)) {
            return Err(format!("{name} is not a field of the log; {}", fields.join(", ")).into());
        }
        let defaults = Defaults { rate: None, per: per.clone(), fields: Some(fields.to_vec()) };
        for text in &self.args.limits {
            let policy = Policy::read(text, &defaults)?;
            self.trials.push((text.clone(), Trial::new(policy, self.args.clients)));
        }
        self.summary = Some(Summary::new(per, self.args.room()));
        Ok(())
    }
}

/// Adds up summaries. Of the limits, single ones of the same clients can be tried on them.
pub(crate) fn summaries(args: &Args) -> Result<Read, Box<dyn Error>> {
    let mut sum: Option<Summary> = None;
    for path in &args.files {
        let wrong = |e: &dyn Error| format!("{}: {e}", path.display());
        let mut bytes = Vec::new();
        let mut file = fs::File::open(path).map_err(|e| wrong(&e))?;
        file.read_to_end(&mut bytes).map_err(|e| wrong(&e))?;
        let next = Summary::read(&bytes, args.room()).map_err(|e| wrong(&e))?;
        match &mut sum {
            Some(sum) => sum.add(&next).map_err(|e| wrong(&e))?,
            None => sum = Some(next),
        }
    }
    let summary = sum.ok_or("there are no summaries")?;
    let tried = args.limits.iter().map(|limit| tried(&summary, limit));
    let tried = tried.collect::<Result<_, _>>()?;
    Ok(Read { summary, tried })
}

fn tried(summary: &Summary, text: &str) -> Result<Tried, Box<dyn Error>> {
    let defaults = Defaults { rate: None, per: summary.per.clone(), fields: None };
    let policy = Policy::read(text, &defaults)?;
    match policy.limits() {
        [limit] if limit.per == summary.per => {
            let replay = Replay::run(&summary.clients, limit.limiter.clone(), Span::ZERO);
            Ok(Tried {
                text: text.to_owned(),
                touched: replay.touched(&summary.clients).touched,
                refused: replay.refused(),
                forgotten: 0,
            })
        }
        _ => {
            let per = &summary.per;
            Err(format!("{text}: of summaries only one limit per {per} can be tried").into())
        }
    }
}
