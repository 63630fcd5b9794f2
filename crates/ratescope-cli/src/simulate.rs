//! `ratescope simulate`: asks any policies about the events of logs.

mod clients;
mod lane;
mod live;
mod logs;
mod report;
mod several;
mod shared;
mod summary;

use crate::rules;
use crate::source::LogArgs;
use crate::store;
use crate::terminal::{Visible, at_least_one, say, until_closed};
use clap::ValueEnum;
use lane::{Lane, is_made};
use live::Screen;
use logs::Logs;
use ratescope::policy::{Defaults, Per};
use ratescope::rules::Rules;
use ratescope::{Event, Policy};
use ratescope_lab::lane::split;
use ratescope_log::{Format, HELD, Names, Order, Record, Row};
use report::Printer;
use several::Several;
use std::collections::HashSet;
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::path::PathBuf;
use std::str::FromStr;

/// Put the events of a log to limiters, and print each decision
///
/// The log may be an access log of nginx, Apache, HAProxy, Envoy, Caddy and others, JSON lines, Exim's main
/// log, failed logins in syslog, or CSV; also as docker, Kubernetes and the journal write them, and packed
/// with gzip, zstd, bzip2 or xz:
///
///     ratescope simulate "exim 10/1m strict" access.log
///     ratescope simulate "gcra 6/10s per ip & gcra 100/1h per user" --path /login access.log.1.gz access.log
///     tail -F access.log | ratescope simulate "gcra 5/1s"
///
/// Several files are read as one log: name the oldest first.
///
/// CSV has a header. The column time is in seconds since any origin, with up to six decimals; cost is
/// the cost of the event, by default 1; any other column is a field that a limit may be for:
///
///     time,key,ip,cost
///     0.5,alice,192.0.2.7,1
///     0.75,bob,192.0.2.7,2
///
/// The output has one line for each event and limiter, in the order of time, and a summary on standard error. In csv
/// and jsonl, times are in seconds, for a log since 1970, and retry_after is "never" if waiting does not help. The key
/// is made of the fields of --key. The level is what the limiter compared with its limit. With several limits, level
/// and limit are those of the limit that decided; decided_by is this limit, and decided_key its key. In csv, a text
/// that a spreadsheet would take for a formula begins with a ', and control characters are escaped as in jsonl.
///
/// With --rules, the rules of a file decide, beside the limiters if there are any. Each decision has a
/// remark: "softly", and which shadows would refuse. The columns are the fields of the rules; a column
/// called load, as in 42%, is the load of the service.
///
/// With --store, a Redis or a Redis Cluster decides, at the times of the events, and decides the same as this program.
/// The run uses keys of its own, and deletes them at the end. On a cluster its keys are on all nodes; limits for
/// different fields that are decided together have their keys on one node.
///
/// With --live, only the summary is printed. The page shows the events in its view Live, by limiter, rule and key, as
/// those of a running service. The events begin when somebody opens the view:
///
///     ratescope sample | ratescope simulate --live --speed 600 "gcra 30/1m per ip"
///
/// With --clients, there is no log: clients with a job try again when they are refused. Each limiter has its own clients,
/// who begin alike, and may say after retry how they try again. One line for each limiter tells how the jobs went, or
/// how far they got in an hour:
///
///     ratescope simulate --clients "10 clients of 20 retry at once" "gcra 2/1s" "gcra 2/1s retry exponential 1s full"
///
/// A client has so many requests, sends one or, with together 2, several at once, pauses after each answer that is
/// good (pause 1s), and has an answer after 100 ms or as said (answer 50ms). It tries again never, at once, every 1s,
/// exponential 1s x2 most 1m, or retry-after, as the limiter says; full, equal or decorrelated adds jitter.
///
/// A limiter may say at its end how several processes share it, each of which gets a part of the events: share exact, each
/// asks Redis; share leased 100ms, it takes events in advance; share synced 1s, it decides by itself and tells Redis
/// later; share alone, it knows nothing of the others. Redis is imitated. The summary says by how much the limit was
/// exceeded at most when an event passed, and the calls to Redis. Other limiters, and the rules of --rules whatever
/// their share, are in one process:
///
///     ratescope simulate --processes 40 "gcra 50/1s share leased 1s" "gcra 50/1s share alone" access.log
///
/// CSV is taken in its own order, and a line that cannot be read is an error. Other logs are sorted by
/// time, and lines that cannot be read are counted and skipped.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A limiter in quotes, such as "exim 10/1m strict", or several limits joined by "&", each for
    /// a key, as in "gcra 5/1s per user & gcra 9/1s per ip"; `ratescope limiters` lists them. Any
    /// number of them, and of logs; without a log, standard input
    #[arg(value_name = "LIMITER|LOG")]
    given: Vec<Given>,

    /// A rule file, as `ratescope check` explains it
    #[arg(long, value_name = "RULES")]
    rules: Vec<PathBuf>,

    /// How to print the decisions
    #[arg(long, value_enum, default_value_t = Printed::Table)]
    format: Printed,

    /// How many keys of a limit are remembered; beyond that, the least recently used ones are
    /// evicted
    #[arg(long, value_name = "N", default_value_t = 1_000_000, value_parser = at_least_one)]
    keys: usize,

    /// Where the states are: a Redis, as in redis://127.0.0.1:6379, some nodes of a Redis Cluster, as in
    /// redis-cluster://127.0.0.1:7000,127.0.0.1:7001, or the sentinels of a master, as in
    /// redis-sentinel://127.0.0.1:26379/mymaster. By default, in this program. A password can be in the environment
    /// variable RATESCOPE_STORE_PASSWORD
    #[arg(long, value_name = "URL")]
    store: Option<String>,

    /// Clients with a job, in place of a log, as in "9 clients of 20 retry every 1s, 1 client of 20 retry at once"
    #[arg(long, value_name = "CLIENTS", conflicts_with_all = ["rules", "store", "live"])]
    clients: Option<String>,

    /// The seed of the clients' jitter, and of --balance "by chance"
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,

    #[command(flatten)]
    several: several::Among,

    #[command(flatten)]
    live: live::Options,

    #[command(flatten)]
    source: LogArgs,
}

#[derive(Clone, Copy, ValueEnum)]
enum Printed {
    Table,
    Csv,
    Jsonl,
}

/// A policy as written, or a log. The fields of a policy can only be checked when a log is read.
#[derive(Clone)]
enum Given {
    Policy(String),
    Log(PathBuf),
}

impl FromStr for Given {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let path = PathBuf::from(text);
        let is_log = text == "-" || path.exists();
        // Clients may try again in a way of their own, and several processes may share a limit.
        let limits = match split(text) {
            Ok(parts) => parts.limits,
            Err(_) if is_log => return Ok(Given::Log(path)),
            Err(error) => return Err(error.to_string()),
        };
        // Events may cost less than 1, so that limits below 1 are not wrong.
        match Policy::read(limits, &Defaults::default()) {
            Ok(_) => Ok(Given::Policy(text.trim().to_owned())),
            Err(_) if is_log => Ok(Given::Log(path)),
            // Without quotes the shell splits at spaces, and each word comes here as a limiter.
            Err(error) if !text.contains(' ') => Err(format!(
                "there is no such file, and it is no limiter: {error}; write a limiter of several words in quotes"
            )),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// Reads all events, and prints every decision or shows them in Live.
pub(crate) fn run(args: Args) -> Result<(), Box<dyn Error>> {
    if let Some(script) = &args.clients {
        let lanes = args.given.iter().map(|given| match given {
            Given::Policy(text) => Ok(text.clone()),
            Given::Log(path) => {
                Err(format!("{} is no limiter; with --clients there is no log", path.display()))
            }
        });
        let lanes = lanes.collect::<Result<Vec<_>, _>>()?;
        if lanes.is_empty() {
            return Err("there is no limiter; write one in quotes".into());
        }
        return clients::run(&lanes, script, args.seed, args.several.processes());
    }
    if args.live.is_on() { live::run(args) } else { decide(args, None) }
}

/// Reads all events and prints every decision, or shows them on a screen.
fn decide(args: Args, screen: Option<&Screen>) -> Result<(), Box<dyn Error>> {
    let files = args.rules.iter().map(|path| rules::read(path)).collect::<Result<Vec<_>, _>>()?;
    let options = args.source.options();
    let mut policies = Vec::new();
    let mut logs = Vec::new();
    for given in args.given {
        match given {
            Given::Policy(text) => policies.push(text),
            Given::Log(path) => logs.push(path),
        }
    }
    if policies.is_empty() && files.is_empty() {
        return Err("there is no limiter; write one in quotes, or --rules FILE".into());
    }
    let mut logs = Logs::open(logs, &options)?;
    let log = &mut logs.log;
    let is_csv = log.shape().format() == Format::CSV;
    if is_csv {
        log.be_strict();
    }
    args.source.warn(log.shape());
    let per = log.shape().key(&options);
    let fields = log.shape().fields().map(<[String]>::to_vec);
    if let Some(fields) = &fields {
        files.iter().for_each(|rules| warn_of_fields(rules, fields));
    }
    let defaults = Defaults { rate: None, per: per.clone(), fields, cost: 0.0 };
    let keys = args.keys;
    let store = args.store.map(|url| store::address(&url, None, None)).transpose()?;
    let at = shared::At::new(store)?;
    let lane = |rules, text| at.open(&rules).map(|store| Lane::new(rules, text, keys, store));
    let among = (args.several.processes(), args.seed);
    let policy = |text: String| {
        let parts = split(&text)?;
        if parts.way.is_some() {
            return Err(format!("{text}: retry goes with --clients").into());
        }
        let policy = rules::policy(parts.limits, &defaults)?;
        match parts.sharing {
            Some(_) if at.is_elsewhere() => {
                Err(format!("{text}: what share says is imitated here; leave --store out").into())
            }
            Some(sharing) => {
                let several = Several::new(&policy, sharing, among);
                let several = several.map_err(|problem| format!("{text}: {problem}"))?;
                Ok(Lane::several(several, text.clone(), keys))
            }
            None => lane(policy.into(), Some(text)),
        }
    };
    let rules = |rules| lane(rules, None);
    let lanes = match screen {
        Some(screen) => screen.lanes(policies, files, &defaults, keys)?,
        None => {
            let policies = policies.into_iter().map(policy);
            policies.chain(files.into_iter().map(rules)).collect::<Result<Vec<_>, _>>()?
        }
    };
    let report = screen.is_none().then(|| {
        let texts: Vec<&str> = lanes.iter().map(|lane| lane.text.as_str()).collect();
        let out = io::BufWriter::new(io::stdout().lock());
        let remarks = lanes.iter().any(|lane| lane.is_rules);
        Printer::new(args.format, out, &texts, remarks, !is_csv)
    });
    let mut run = Run { lanes, per, report, screen, result: Ok(()) };
    run.result = run.report.as_mut().map_or(Ok(()), Printer::begin);
    let slack = args.source.slack(log.shape());
    let mut order = slack.map(|slack| Order::new(slack, HELD, args.source.spread()));
    let read = run.events(&mut logs, order.as_mut());
    // Decisions before a mistake are still printed.
    match run.result.and_then(|()| run.report.as_mut().map_or(Ok(()), Printer::end)) {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => return Ok(()),
        ended => ended?,
    }
    read?;
    let mut out = Visible(io::stderr().lock());
    let log = &logs.log;
    summary::of_log(log, order.as_ref(), &run.per, options.only_keyed, &mut out)?;
    let counts = log.counts();
    if !is_csv && counts.events + counts.filtered == 0 {
        return Err(log.shape().no_events(&options.filter, counts).into());
    }
    if order.is_some_and(|order| order.is_newest_first()) {
        return Err(
            "the newest line of the log is the first; reverse the log, as tac FILE does".into()
        );
    }
    until_closed(run.lanes.iter().try_for_each(|lane| lane.summary(&mut out)))
}

/// The state of a simulation: events go through the lanes to the report, or at the pace of a screen.
struct Run<'a, W: Write> {
    lanes: Vec<Lane>,
    /// The fields of the key that is printed with each decision.
    per: Per,
    report: Option<Printer<W>>,
    screen: Option<&'a Screen>,
    /// The first error of the output, which ends the run.
    result: io::Result<()>,
}

impl<W: Write> Run<'_, W> {
    /// Reads the logs to their end, or until nobody reads the output.
    fn events(
        &mut self,
        logs: &mut Logs,
        mut order: Option<&mut Order<Row>>,
    ) -> Result<(), String> {
        let names = self.lanes.iter().flat_map(Lane::fields);
        let names: Names = names.chain(self.per.fields().iter().cloned()).collect();
        let mut push = |record: &Record<'_>, run: &mut Self| {
            let row = Row::new(record, &names);
            let Some(order) = &mut order else {
                return (0..record.times()).for_each(|_| run.decide(&row.event()));
            };
            order.push(record.when(), row.bytes(), row, &mut |time, row| {
                run.decide(&Event { time, ..row.event() });
            });
        };
        let mut read = Ok(true);
        while self.result.is_ok() && matches!(read, Ok(true)) {
            read = logs.read(&mut |record| push(record, self));
        }
        if let Some(order) = order {
            order.finish(&mut |time, row| self.decide(&Event { time, ..row.event() }));
        }
        read.map(drop)
    }

    fn decide(&mut self, event: &Event<'_>) {
        if self.result.is_err() {
            return;
        }
        if let Some(screen) = self.screen {
            screen.wait_for(event.time);
        }
        let key = ratescope_lab::tune::key(event.fields, &self.per);
        for lane in &mut self.lanes {
            self.result = lane.check(event).and_then(|decided| match &mut self.report {
                Some(report) => report.decision(event, &key, &decided),
                None => Ok(()),
            });
            if self.result.is_err() {
                return;
            }
        }
        if let Some(screen) = self.screen {
            screen.counted(event.time);
        }
    }
}

/// Warns of the fields of the rules that the input does not have.
fn warn_of_fields(rules: &Rules, known: &[String]) {
    let columns: HashSet<&str> = known.iter().map(String::as_str).collect();
    let mut missing: Vec<&str> = rules.fields();
    missing.retain(|field| !columns.contains(field) && !is_made(field, rules, known));
    if !missing.is_empty() {
        let file = rules.file();
        let missing = missing.join(", ");
        say(&format!("note: {file} has rules for fields that are no columns here: {missing}"));
    }
}
