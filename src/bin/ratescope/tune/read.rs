//! Where the clients come from: logs, or summaries of them.

use super::Args;
use super::batch::{Batch, Held};
use ratescope::lab::tune::{Replay, Summary, Trial};
use ratescope::log::{Counts, HELD, Log, Order, Shape, unpack};
use ratescope::policy::{Defaults, Per};
use ratescope::{Policy, Span};
use std::collections::BTreeSet;
use std::error::Error;
use std::fs;
use std::io::{self, Read as _};
use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

/// What was read.
pub(crate) struct Read {
    pub(crate) summary: Summary,
    pub(crate) tried: Vec<Tried>,
    /// The first lines that could not be read, and why.
    pub(crate) problems: Vec<String>,
}

/// A limit that was tried on every event.
pub(crate) struct Tried {
    pub(crate) text: String,
    pub(crate) touched: u64,
    pub(crate) refused: u64,
    pub(crate) forgotten: u64,
}

type Failure = Box<dyn Error + Send + Sync>;

/// Reads logs, one after the other.
pub(crate) fn logs(args: &Args) -> Result<Read, Failure> {
    let mut reading = Reading { args, summary: None, trials: Vec::new(), problems: Vec::new() };
    let stdin = [Path::new("-").to_owned()];
    for path in if args.files.is_empty() { &stdin[..] } else { &args.files } {
        reading.log(path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let Reading { summary, trials, problems, .. } = reading;
    let tried = |(text, trial): &(String, Trial)| Tried {
        text: text.clone(),
        touched: trial.touched(),
        refused: trial.refused(),
        forgotten: trial.forgotten(),
    };
    let summary = summary.ok_or("there are no logs")?;
    Ok(Read { summary, tried: trials.iter().map(tried).collect(), problems })
}

struct Reading<'a> {
    args: &'a Args,
    summary: Option<Summary>,
    trials: Vec<(String, Trial)>,
    problems: Vec<String>,
}

/// What a log's events are to be taken for: whose they are, and the fields that are tried on.
type Wanted = (Per, Option<Arc<[String]>>);

impl Reading<'_> {
    /// Reads a log in two threads: one finds the events in its lines, the other puts them in order
    /// and to their clients. The order of the lines stays, so the result is as with one.
    fn log(&mut self, path: &Path) -> Result<(), Failure> {
        let args = self.args;
        let (shape_out, shape) = sync_channel::<Shape>(1);
        let (wanted, wanted_in) = sync_channel::<Wanted>(1);
        let (batches_out, batches) = sync_channel::<Batch>(8);
        thread::scope(|scope| {
            let reader =
                scope.spawn(move || events(args, path, &shape_out, &wanted_in, &batches_out));
            let taken = match shape.recv() {
                Ok(shape) => self.begin(&shape).and_then(|next| {
                    wanted.send((next.per.clone(), self.fields(&next.per)))?;
                    Ok(Some(self.take(next, &shape, &batches)))
                }),
                Err(_) => Ok(None),
            };
            drop((wanted, batches));
            let counts = reader.join().map_err(|_| "reading it failed")?;
            // What is wrong with the limits is said before that reading was given up for it.
            let (next, counts) = (taken?, counts?);
            let Some(mut next) = next else { return Ok(()) };
            next.lines += counts.lines;
            next.unread += counts.unread;
            self.problems.extend(counts.problems.iter().map(ToString::to_string));
            match &mut self.summary {
                Some(sum) => sum.add(&next)?,
                None => self.summary = Some(next),
            }
            Ok(())
        })
    }

    /// What depends on the fields of a log.
    fn begin(&mut self, shape: &Shape) -> Result<Summary, Failure> {
        let per = self.args.source.key(shape);
        shape.check_key(&per)?;
        let fields = shape.fields().map(<[String]>::to_vec);
        if self.summary.is_none() {
            let defaults = Defaults { rate: None, per: per.clone(), fields };
            for text in &self.args.limits {
                let policy = Policy::read(text, &defaults)?;
                self.trials.push((text.clone(), Trial::new(policy, self.args.clients)));
            }
        }
        Ok(Summary::new(per, self.args.room()))
    }

    /// The fields that limits are tried on, if any are.
    fn fields(&self, per: &Per) -> Option<Arc<[String]>> {
        let policies = self.trials.iter().flat_map(|(_, trial)| trial.policy().fields());
        let all: BTreeSet<&str> = policies.chain(per.fields().iter().map(String::as_str)).collect();
        (!self.trials.is_empty()).then(|| all.into_iter().map(str::to_owned).collect())
    }

    /// Takes the events of a log as they come, until there are no more.
    fn take(&mut self, mut into: Summary, shape: &Shape, batches: &Receiver<Batch>) -> Summary {
        let Summary { per, clients, .. } = &mut into;
        let trials = &mut self.trials;
        let source = &self.args.source;
        let mut order =
            source.slack(shape).map(|slack| Order::<Held>::new(slack, HELD, source.spread()));
        for batch in batches {
            batch.each(|key, time, coarse, cost, row| {
                let held = Held { ticket: clients.ticket(key), cost, row };
                let mut put = |time, held: Held| held.put(time, clients, trials, per);
                match &mut order {
                    Some(order) => order.push(time, coarse, held, &mut put),
                    None => put(time, held),
                }
            });
        }
        if let Some(order) = &mut order {
            order.finish(&mut |time, held| held.put(time, clients, trials, per));
        }
        into
    }
}

/// Finds the events of a log and sends them on.
fn events(
    args: &Args,
    path: &Path,
    shape: &SyncSender<Shape>,
    wanted: &Receiver<Wanted>,
    batches: &SyncSender<Batch>,
) -> Result<Counts, Failure> {
    let input: Box<dyn io::Read> = match path.as_os_str() == "-" {
        true => Box::new(io::stdin().lock()),
        false => Box::new(fs::File::open(path)?),
    };
    let mut log = Log::open(unpack(input)?, &args.source.options())?;
    shape.send(log.shape().clone())?;
    let Ok((per, fields)) = wanted.recv() else { return Ok(Counts::default()) };
    loop {
        let mut batch = Batch::default();
        let more = log.read(&mut |record| batch.add(record, &per, fields.as_ref()))?;
        // When nobody listens any more, there is nothing left to do.
        if batches.send(batch).is_err() || !more {
            return Ok(log.counts().clone());
        }
    }
}

/// Adds up summaries. Of the limits, single ones of the same clients can be tried on them.
pub(crate) fn summaries(args: &Args) -> Result<Read, Failure> {
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
    Ok(Read { summary, tried, problems: Vec::new() })
}

fn tried(summary: &Summary, text: &str) -> Result<Tried, Failure> {
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
