//! Where the clients come from: logs, or summaries of them.

use super::Args;
use super::{progress, threads};
use ratescope::lab::tune::{Batch, LogClock, Queue, ReadOptions, Replay, Summary, Times, Trial};
use ratescope::log::{Pieces, Record, Shape, unpack};
use ratescope::policy::{Defaults, Per};
use ratescope::{Event, Policy};
use std::collections::BTreeSet;
use std::fs;
use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

/// What was read.
pub(crate) struct Read {
    pub(crate) summary: Summary,
    pub(crate) tried: Vec<Tried>,
    /// What the logs are, for a person.
    pub(crate) shapes: Vec<String>,
    /// The first lines that could not be read, and why.
    pub(crate) problems: Vec<String>,
    /// How it was read; of summaries that is not known.
    pub(crate) reading: ReadOptions,
    /// How many events were not wanted.
    pub(crate) filtered: u64,
    /// What became of the times; of summaries that is not known.
    pub(crate) times: Times,
}

/// A limit that was tried on every event.
pub(crate) struct Tried {
    pub(crate) text: String,
    pub(crate) touched: u64,
    pub(crate) refused: u64,
    pub(crate) forgotten: u64,
}

type Failure = Box<dyn std::error::Error + Send + Sync>;

/// Reads logs, one after the other.
pub(crate) fn logs(args: &Args) -> Result<Read, Failure> {
    let mut logs = Logs {
        args,
        summary: None,
        trials: Vec::new(),
        shapes: Vec::new(),
        problems: Vec::new(),
        filtered: 0,
        times: Times::default(),
    };
    let stdin = [Path::new("-").to_owned()];
    for path in if args.files.is_empty() { &stdin[..] } else { &args.files } {
        logs.log(path).map_err(|e| format!("{}: {e}", path.display()))?;
    }
    let Logs { summary, trials, shapes, problems, filtered, times, .. } = logs;
    let tried = |(text, trial): (&String, &Trial)| Tried {
        text: text.clone(),
        touched: trial.touched(),
        refused: trial.refused(),
        forgotten: trial.forgotten(),
    };
    let summary = summary.ok_or("there are no logs")?;
    let tried = args.limits.iter().zip(&trials).map(tried).collect();
    let reading = args.source.reading();
    Ok(Read { summary, tried, shapes, problems, reading, filtered, times })
}

struct Logs<'a> {
    args: &'a Args,
    summary: Option<Summary>,
    /// One for each limit, once a log has said what its fields are.
    trials: Vec<Trial>,
    shapes: Vec<String>,
    problems: Vec<String>,
    filtered: u64,
    times: Times,
}

impl Logs<'_> {
    /// Reads a log.
    fn log(&mut self, path: &Path) -> Result<(), Failure> {
        let options = self.args.source.options();
        let (input, progress) = progress::open(path)?;
        let pieces = Pieces::open(unpack(input)?, &options)?;
        let shape = pieces.shape().clone();
        let mut next = self.begin(&shape)?;
        let (per, fields) = (next.per.clone(), self.fields(&next.per));
        let find =
            |record: &Record<'_>, batch: &mut Batch| batch.add(record, &per, fields.as_ref());
        let source = &self.args.source;
        let mut queue = Queue::new(source.slack(&shape), source.spread());
        let trials = &mut self.trials;
        let mut see = |event: &Event<'_>, per: &Per| {
            trials.iter_mut().for_each(|trial| trial.see(event, per));
        };
        let counts =
            threads::read(pieces, &options, find, |batch| queue.take(batch, &mut next, &mut see));
        progress.finish_and_clear();
        let counts = counts?;
        queue.finish(&mut next, &mut see);
        self.times.add(queue.times());
        let about = shape.to_string();
        if !self.shapes.contains(&about) {
            self.shapes.push(about);
        }
        next.lines += counts.lines;
        next.unread += counts.unread;
        self.filtered += counts.filtered;
        self.problems.extend(counts.problems.iter().map(ToString::to_string));
        match &mut self.summary {
            Some(sum) => sum.add(&next)?,
            None => self.summary = Some(next),
        }
        Ok(())
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
                self.trials.push(Trial::new(policy, self.args.clients));
            }
        }
        Ok(Summary::new(per, self.args.room()))
    }

    /// The fields that limits are tried on, if any are.
    fn fields(&self, per: &Per) -> Option<Arc<[String]>> {
        let policies = self.trials.iter().flat_map(|trial| trial.policy().fields());
        let all: BTreeSet<&str> = policies.chain(per.fields().iter().map(String::as_str)).collect();
        (!self.trials.is_empty()).then(|| all.into_iter().map(str::to_owned).collect())
    }
}

/// Adds up summaries. Of the limits, single ones of the same clients can be tried on them.
pub(crate) fn summaries(args: &Args) -> Result<Read, Failure> {
    let mut sum: Option<Summary> = None;
    for path in &args.files {
        let wrong = |e: &dyn std::error::Error| format!("{}: {e}", path.display());
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
    let (shapes, problems, reading, filtered, times) = Default::default();
    Ok(Read { summary, tried, shapes, problems, reading, filtered, times })
}

fn tried(summary: &Summary, text: &str) -> Result<Tried, Failure> {
    let defaults = Defaults { rate: None, per: summary.per.clone(), fields: None };
    let policy = Policy::read(text, &defaults)?;
    match policy.limits() {
        [limit] if limit.per == summary.per => {
            let replay = Replay::run(&summary.clients, limit.limiter.clone(), &LogClock::default());
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
