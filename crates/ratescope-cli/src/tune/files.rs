//! Reading the files: logs, or summaries of them.

use super::{Args, Candidate, ROWS, progress};
use crate::{bounded, terminal};
use ratescope::Policy;
use ratescope::policy::{Defaults, Per};
use ratescope_config::Only;
use ratescope_lab::tune::{
    Failure, Import, Imported, LogClock, RefusedClient, Replay, Summary, Trial, key,
};
use ratescope_log::{self, HEAD, LogShape, Pieces, unpack};
use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};

/// A limit that was tried on every event.
#[derive(Default)]
pub(crate) struct Tried {
    pub(crate) text: String,
    /// Why it can't be tried on this log; the other fields are then empty.
    pub(crate) problem: Option<String>,
    pub(crate) touched: u64,
    /// It touched more clients than `touched`.
    pub(crate) has_more: bool,
    pub(crate) refused: u64,
    /// The number of events that it was tried on.
    pub(crate) events: u64,
    pub(crate) evicted: u64,
    /// The number of events that have none of the fields of a limit.
    pub(crate) keyless: u64,
    /// The prefixes by which it grouped IPv4 and IPv6 addresses, if not those of the clients.
    pub(crate) prefixes: Option<(u8, u8)>,
    /// The clients that it refused most.
    pub(crate) most_refused: Vec<RefusedClient>,
}

/// The given files, or standard input. Warns of files that are given twice.
fn paths(args: &Args) -> Vec<&Path> {
    if args.files.is_empty() {
        return vec![Path::new("-")];
    }
    let mut given = BTreeSet::new();
    let paths = args.files.iter().map(PathBuf::as_path);
    paths
        .inspect(|path| {
            if fs::canonicalize(path).is_ok_and(|file| !given.insert(file)) {
                let name = terminal::name(path);
                terminal::say(&format!("note: {name} is given twice, and counts twice"));
            }
        })
        .collect()
}

/// Reads logs, one after the other, and tries the limits on every event.
pub(crate) fn logs(args: &Args, limits: &[Candidate]) -> Result<(Imported, Vec<Tried>), Failure> {
    let mut import = Import::new(args.source.reading(), args.room());
    let mut trials = Vec::new();
    let paths = paths(args);
    for path in &paths {
        let name = terminal::name(path);
        if paths.len() > 1 {
            import.name(&name);
        }
        match log(args, limits, path, &mut import, &mut trials) {
            // A log is empty right after its rotation.
            Err(error) if paths.len() > 1 && is_empty(&error) => {
                terminal::say(&format!("note: {name} is empty"));
            }
            read => read.map_err(|error| format!("{name}: {error}"))?,
        }
    }
    let log = import.finish()?;
    let tried = |(limit, trial): (&Candidate, &Result<Trial, String>)| {
        let text = limit.text.clone();
        let trial = match trial {
            Ok(trial) => trial,
            Err(problem) => {
                return Tried { text, problem: Some(problem.clone()), ..Tried::default() };
            }
        };
        let problem = (limit.is_in_force && !trial.unseen().is_empty()).then(|| {
            let fields = trial.unseen().join(" and no ");
            let events = log.events();
            format!("none of the {events} that were read has {fields}")
        });
        if problem.is_some() {
            return Tried { text, problem, ..Tried::default() };
        }
        Tried {
            text,
            problem,
            events: trial.events,
            touched: trial.touched(),
            has_more: trial.has_more,
            refused: trial.refused,
            evicted: trial.evicted(),
            keyless: trial.keyless,
            prefixes: trial.prefixes,
            most_refused: trial.most_refused(&log.summary.clients, ROWS),
        }
    };
    let tried = limits.iter().zip(&trials).map(tried).collect();
    Ok((log, tried))
}

fn is_empty(error: &Failure) -> bool {
    let error = error.downcast_ref::<ratescope_log::Error>();
    matches!(error, Some(ratescope_log::Error::Unknown(unknown)) if unknown.is_empty())
}

fn log(
    args: &Args,
    limits: &[Candidate],
    path: &Path,
    import: &mut Import,
    trials: &mut Vec<Result<Trial, String>>,
) -> Result<(), Failure> {
    let options = args.source.options();
    let (input, progress) = progress::open(path)?;
    let mut input = BufReader::with_capacity(HEAD, input);
    if Summary::is_summary(input.fill_buf()?) {
        return Err("it is a summary; use --merge".into());
    }
    let pieces = Pieces::open(unpack(input)?, &options)?;
    args.source.warn(pieces.shape());
    let per = import.key(pieces.shape())?;
    if trials.is_empty() {
        *trials = self::trials(args, limits, &per, pieces.shape())?;
    }
    let mut tried: Vec<&mut Trial> = trials.iter_mut().flatten().collect();
    let read = import.read(pieces, &mut tried);
    progress.finish_and_clear();
    read
}

/// The limits to try. The fields of typed limits must be fields of the first log, if its fields are known.
fn trials(
    args: &Args,
    limits: &[Candidate],
    per: &Per,
    shape: &LogShape,
) -> Result<Vec<Result<Trial, String>>, Failure> {
    let fields = shape.fields().map(<[String]>::to_vec);
    let trial = |limit: &Candidate| {
        let fields = fields.clone().filter(|_| !limit.is_in_force);
        let defaults = Defaults { rate: None, per: per.clone(), fields, cost: 0.0 };
        let mut trial = Trial::new(Policy::read(&limit.text, &defaults)?, args.clients);
        trial.prefixes = limit.prefixes;
        // The test of a path is of the whole of it.
        let is_cut = args.source.options().path_depth.is_some();
        Ok(match &limit.only {
            Only::All => Ok(trial),
            Only::Fields(test) => match test.compile() {
                Ok(filter) if is_cut && filter.fields().any(|field| field == "path") => {
                    Err("it is for some paths, which --path-depth cuts".to_owned())
                }
                filter => filter.map(|filter| trial.only(filter)),
            },
            Only::Unknown(why) => Err(why.clone()),
        })
    };
    limits.iter().map(trial).collect()
}

/// Adds up summaries. A policy can be tried on summaries if it is a single limit for the same clients.
pub(crate) fn summaries(
    args: &Args,
    limits: &[Candidate],
) -> Result<(Imported, Vec<Tried>), Failure> {
    let mut sum: Option<Summary> = None;
    for path in paths(args) {
        let mut add = || -> Result<Summary, Failure> {
            let room = args.room();
            let bytes = bounded::beginning(path, room.bytes.saturating_add(1))?;
            if bytes.len() > room.bytes && Summary::is_summary(&bytes) {
                return Err(
                    format!("has more than {} MiB; give more with --memory", args.memory).into()
                );
            }
            let next = Summary::read(&bytes, room)?;
            Ok(match sum.take() {
                Some(mut sum) => sum.add(&next).map(|()| sum)?,
                None => next,
            })
        };
        sum = Some(add().map_err(|error| format!("{}: {error}", terminal::name(path)))?);
    }
    let summary = sum.ok_or("there are no summaries")?;
    let tried = tried_all(&summary, limits)?;
    Ok((Imported::from(summary).with_events()?, tried))
}

/// The results of limits, tried on the summary of a log.
pub(crate) fn tried_all(summary: &Summary, limits: &[Candidate]) -> Result<Vec<Tried>, Failure> {
    limits.iter().map(|limit| tried(summary, limit)).collect()
}

fn tried(summary: &Summary, limit: &Candidate) -> Result<Tried, Failure> {
    let Candidate { text, is_in_force, only, .. } = limit;
    let is_in_force = *is_in_force;
    if *only != Only::All {
        let problem = "a summary of a log does not say which of its events it is for";
        let problem = Some(problem.to_owned());
        return Ok(Tried { text: text.to_owned(), problem, ..Tried::default() });
    }
    let defaults = Defaults { rate: None, per: summary.per.clone(), fields: None, cost: 0.0 };
    let policy = Policy::read(text, &defaults)?;
    let [limit] = policy.limits() else { return Err(too_many(summary, text)) };
    if limit.per != summary.per && is_in_force {
        let problem = format!("only the counts per {} are kept of the log", summary.per);
        return Ok(Tried { text: text.to_owned(), problem: Some(problem), ..Tried::default() });
    }
    if limit.per != summary.per {
        return Err(too_many(summary, text));
    }
    let replay = Replay::run(&summary.clients, limit.limiter.clone(), &LogClock::default());
    let touched = replay.touched(&summary.clients).touched;
    let text = text.to_owned();
    let refused = replay.refused();
    let nobody =
        summary.clients.find(&key(&(), &summary.per)).filter(|_| !summary.per.fields().is_empty());
    let keyless = nobody.map_or(0, |place| summary.clients.requests_of(place));
    let most_refused = replay.most_refused(ROWS);
    let events = summary.clients.requests();
    Ok(Tried { text, touched, refused, events, keyless, most_refused, ..Tried::default() })
}

fn too_many(summary: &Summary, text: &str) -> Failure {
    format!("{text}: only one limit per {} can be tried on the summary of a log", summary.per)
        .into()
}
