//! `ratescope tune`: chooses a limit from a log.

mod files;
mod follow;
mod json;
mod progress;
mod rules;
mod tail;
mod text;
mod today;

use crate::bounded;
use crate::source::LogArgs;
use crate::terminal::{self, Visible, at_least_one, until_closed};
use files::Tried;
use ratescope::{ParseError, Policy, Span};
use ratescope_config::{Addresses, Only, Target};
use ratescope_lab::plot::{palette::Theme, svg};
use ratescope_lab::tune::{
    Analysis, Choices, ClientRow, Failure, Imported, LimitEffect, MarkedKeys, Metric, PERIODS,
    PictureData, Room, Summary, TableOrder, is_bucket, percentage, stops,
};
use ratescope_lab::view::Viewport;
use ratescope_lab::view::tune::{Picture, draw, height};
use same_file::Handle;
use std::error::Error;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::mem;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use today::Today;

/// Choose a limit from a log of your own traffic
///
/// For every limit and several periods, it says how many clients and requests the limit would have refused.
/// It proposes the smallest limit that leaves nearly all clients alone. The limit is
/// learned from the first two thirds of the log and checked on the rest.
///
///     ratescope tune access.log
///     ratescope tune access.log --period 5m --limit "exim 100/1h strict"
///     ratescope tune --config nginx.conf access.log
///     ratescope tune --summary a.tune access-a.log
///     ratescope tune --merge a.tune b.tune
///
/// A summary holds the key of every client and the times of its requests, a few bytes a request. If all clients and
/// requests fit into --memory and --clients, merged summaries give the same answer as reading all logs at once. Protect
/// a summary like the log itself.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// The logs, in any order; - or no file at all is standard input
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,

    /// Another period to look at, besides 1s, 10s, 1m, 10m and 1h; the curve is for the first --period. Without it, for
    /// 1m; where each event is a failed login, for the period of --config, or 10m
    #[arg(long, value_name = "SPAN", value_parser = period)]
    period: Vec<Span>,

    /// Look only at the periods given
    #[arg(long, requires = "period")]
    only: bool,

    /// The limiter of the curve and the recommendation: exim, earrrl, fixed-window,
    /// sliding-window, sliding-counter, sliding-log, haproxy or fail2ban, where N is the limit of the period;
    /// or bucket or nginx, where N is the burst at the rate that is tightest for the period. By default that of
    /// the first server of --for, and otherwise exim
    #[arg(long, value_name = "BY", value_parser = limited_by)]
    by: Option<Choices>,

    /// Recommend a limit for this server, by its own arithmetic, and print its configuration: exim,
    /// nginx, haproxy, envoy, descriptors, caddy, traefik, cloudflare, rust, nftables or fail2ban; or rules, a rule file
    /// for ratescope run. By default that of --config, exim for a log of Exim, fail2ban for a log of failed logins, and no server for other logs; several
    /// with commas
    #[arg(long = "for", value_name = "SERVER", value_delimiter = ',')]
    targets: Vec<For>,

    /// A limit to replay exactly, and to say whom it refuses most, such as "exim 10/1m strict", "5/1s per user & 9/1s
    /// per ip", or "adaptive x3 decay 10m floor 10 by hour", which learns what each client does at each hour of the day
    #[arg(long = "limit", value_name = "LIMITS", value_parser = written)]
    limits: Vec<String>,

    /// The configuration in force: what its limits do to the log, and what the recommended limit would do instead. It
    /// may be of nginx (limit_req), HAProxy (rates of stick tables), Envoy (local_ratelimit as YAML or JSON), the rate
    /// limit service (its rule file), Caddy (rate_limit), Traefik (rateLimit as YAML, TOML or labels), Cloudflare
    /// (rules as JSON), Exim (ratelimit), fail2ban (jail.local) or nftables (limit rate): its words show which. Parts
    /// that are not understood are printed with their lines, and nothing is guessed
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,

    /// Try only the limit of this name in --config: a zone, a table, a middleware, a jail or a set. Repeatable
    #[arg(long = "zone", value_name = "NAME", requires = "config")]
    zones: Vec<String>,

    /// The percentage of clients to leave alone. By default 99.9; where each event is a failed login, the limit is
    /// instead the smallest that lets a person mistype three times in a row
    #[arg(long, value_name = "PERCENT", value_parser = percentage)]
    untouched: Option<f64>,

    /// A file with the keys of clients that should be left alone, or networks as in 192.0.2.0/24, one a
    /// line
    #[arg(long, value_name = "FILE")]
    marks: Option<PathBuf>,

    /// A client to be stopped, or a network: the limit is chosen without it, and the report says whether the limit
    /// stops it. Repeatable
    #[arg(long, value_name = "KEY")]
    stop: Vec<String>,

    /// A client, or a network, to ignore when the limit is chosen, such as an office that is limited elsewhere.
    /// Repeatable
    #[arg(long, value_name = "KEY")]
    without: Vec<String>,

    /// Print the report as one JSON object; with --follow, one object a line
    #[arg(long)]
    json: bool,

    /// Draw the curve, the buckets and the hours, as the page does, into an SVG file
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,

    /// Write a summary, for --merge
    #[arg(long, value_name = "FILE")]
    summary: Option<PathBuf>,

    /// Add up the files, which are summaries. Takes no option about reading logs
    #[arg(long, conflicts_with = "LogArgs")]
    merge: bool,

    /// Follow one log as tail -F does, and print the report again when the log has grown; on a terminal, the
    /// new report replaces the old one. Standard input is followed to its end
    #[arg(long, conflicts_with_all = ["merge", "summary", "svg"])]
    follow: bool,

    /// The most clients that are kept
    #[arg(long, value_name = "N", default_value_t = Room::default().clients, value_parser = at_least_one)]
    clients: usize,

    /// The most memory in MiB for clients, events and lines that are being sorted; with --merge or --follow, up to
    /// twice as much
    #[arg(long, value_name = "MIB", default_value_t = Room::default().bytes >> 20, value_parser = at_least_one)]
    memory: usize,

    #[command(flatten)]
    source: LogArgs,
}

/// Checks a policy and returns its text. The fields can only be checked when a log is read.
fn written(text: &str) -> Result<String, ParseError> {
    text.parse::<Policy>().map(|_| text.trim().to_owned())
}

fn period(text: &str) -> Result<Span, ParseError> {
    terminal::above_zero(text, "a period must be longer than zero; write it as in 1m")
}

/// The names that `--by` reads besides those of [`Metric`].
const OTHERS: [&str; 4] = ["bucket", "nginx", "haproxy", "fail2ban"];

/// Reads `--by`: a limit of a period, a bucket, or a server with known arithmetic.
fn limited_by(text: &str) -> Result<Choices, ParseError> {
    let mut choices = Choices { target: Target::Rust, by: None, ..Choices::default() };
    match text {
        _ if is_bucket(text) => {}
        "nginx" | "haproxy" | "fail2ban" => choices.set("for", text)?,
        _ => {
            let others = OTHERS.join(", ");
            let help =
                |e: ParseError| ParseError::whole(text, format!("{}, {others}", e.problem()));
            choices.by = Some(text.parse::<Metric>().map_err(help)?);
        }
    }
    Ok(choices)
}

/// The target that `--for` names: a server, or a rule file of Ratescope itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum For {
    Server(Target),
    Rules,
}

impl For {
    /// The choices for it, with the arithmetic of the server.
    fn choices(self) -> Result<Choices, ParseError> {
        match self {
            For::Rules => limited_by("bucket"),
            For::Server(target) => {
                let mut choices = Choices::default();
                choices.set("for", &target.to_string())?;
                Ok(choices)
            }
        }
    }

    fn title(self) -> &'static str {
        match self {
            For::Rules => "ratescope run",
            For::Server(target) => target.title(),
        }
    }
}

impl fmt::Display for For {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            For::Rules => f.write_str("rules"),
            For::Server(target) => write!(f, "{target}"),
        }
    }
}

impl FromStr for For {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        if text == "rules" {
            return Ok(For::Rules);
        }
        let server = text.parse().map(For::Server);
        server
            .map_err(|e: ParseError| ParseError::whole(text, format!("{}, or rules", e.problem())))
    }
}

impl Args {
    fn room(&self) -> Room {
        Room { clients: self.clients, bytes: self.memory.saturating_mul(1 << 20) }
    }

    /// The periods, the one of the curve first: one that was given, or else the `usual` one.
    fn periods(&self, usual: Span) -> Vec<Span> {
        let others = [usual].into_iter().chain(PERIODS).filter(|_| !self.only);
        let mut periods: Vec<Span> = Vec::new();
        for period in self.period.iter().copied().chain(others) {
            if !periods.contains(&period) {
                periods.push(period);
            }
        }
        periods
    }
}

/// The whole answer.
pub(crate) struct Tuned<'a> {
    analysis: &'a Analysis,
    tried: &'a [Tried],
    /// The effect of the recommended limit; `None` if there is none.
    effect: Option<LimitEffect>,
    bucket: Option<LimitEffect>,
    servers: Vec<Server>,
    /// The limits in force, which are the first that were tried.
    today: Option<&'a Today>,
    /// The clients that are refused most, and then the busiest.
    most_refused: Vec<ClientRow>,
    above: Option<Above>,
}

/// Clients far above all others, which the recommended limit stops, and the limit that would not.
pub(crate) struct Above {
    says: String,
    limit: Option<String>,
    touched: u64,
    keys: Vec<String>,
}

impl Above {
    fn new(analysis: &Analysis) -> Option<Above> {
        let plateau = analysis.plateau()?;
        let key = |place: &usize| analysis.clients().key(*place).to_owned();
        Some(Above {
            says: plateau.sentence(analysis),
            limit: plateau.upper.as_ref().map(|(limit, _)| limit.to_string()),
            touched: plateau.upper.as_ref().map_or(0, |(_, touched)| *touched),
            keys: plateau.outliers.iter().map(key).collect(),
        })
    }
}

/// The recommendation for one server.
pub(crate) struct Server {
    target: For,
    /// The effect of its limiter; `None` if no limit leaves enough clients alone.
    effect: Option<LimitEffect>,
    above: Option<Above>,
    /// The effect on the clients that are to be stopped.
    stops: Vec<String>,
    /// The configuration to paste and notes on it, or why it can't be written.
    configuration: Result<(String, Vec<String>), String>,
}

/// The longest file of marks, in bytes.
const MARKS: usize = 1 << 24;

/// How many clients, and how many of the most refused paths and agents, are shown.
const ROWS: usize = 10;

/// Reads the logs, answers, and prints the answer.
pub(crate) fn run(mut args: Args) -> Result<(), Box<dyn Error>> {
    let today = Today::read(&args)?;
    let is_grouping_given = args.source.ipv6_prefix.is_some();
    if let Some(today) = &today {
        let bits = args.source.ipv6_prefix.unwrap_or(today.ipv6_prefix());
        args.source.ipv6_prefix = Some(bits);
    }
    let args = &args;
    let marks: MarkedKeys = match &args.marks {
        Some(path) => bounded::text(path, MARKS).map_err(|error| named(path, &error))?.parse()?,
        None => Default::default(),
    };
    check_outputs(args)?;
    let ipv6 = args.source.ipv6_prefix.filter(|_| is_grouping_given);
    let in_force = today.iter().flat_map(|today| &today.config.found).map(|found| Candidate {
        text: found.limit.to_string(),
        is_in_force: true,
        prefixes: found.is_by_address().then(|| {
            let Addresses { ipv4_prefix, ipv6_prefix, .. } = found.addresses;
            (ipv4_prefix, ipv6.unwrap_or(ipv6_prefix))
        }),
        only: found.only.clone(),
    });
    let given = args.limits.iter().cloned();
    let given =
        given.map(|text| Candidate { text, is_in_force: false, prefixes: None, only: Only::All });
    let limits = in_force.chain(given).collect();
    let task = Task { args, limits, today, marks };
    if args.follow {
        return follow::run(&task);
    }
    let read = if args.merge {
        files::summaries(args, &task.limits)
    } else {
        files::logs(args, &task.limits)
    };
    let (log, tried) = read.map_err(|error: Failure| -> Box<dyn Error> { error })?;
    // Reading the log may have taken long, so the answer is printed even if the summary can't be written.
    let kept = args.summary.as_ref().map_or(Ok(()), |path| {
        write_summary(&log.summary, path).map_err(|error| named(path, &error))
    });
    let mut out = io::BufWriter::new(io::stdout().lock());
    let (analysis, printed) = task.answer(log, &tried, &mut out)?;
    let printed = until_closed(printed.and_then(|()| out.flush()));
    let drawn = args.svg.as_ref().map_or(Ok(()), |path| {
        // By now the summary is there.
        check_different(args)?;
        let picture = picture(&analysis).ok_or("--svg: there is no period to draw")?;
        fs::write(path, picture).map_err(|error| named(path, &error))
    });
    // The end of the process frees the log's events at once: `drop` would visit them client by client.
    mem::forget(analysis);
    printed.and(kept.map_err(Into::into)).and(drawn.map_err(Into::into))
}

/// Checks that no output replaces a file that is read, or the other output. A summary may replace one that was merged
/// into it.
fn check_outputs(args: &Args) -> Result<(), String> {
    let stdin = [PathBuf::from("-")];
    let logs = if args.files.is_empty() { &stdin[..] } else { &args.files };
    for (option, output) in [("--summary", &args.summary), ("--svg", &args.svg)] {
        let Some(output) = output else { continue };
        let logs = logs.iter().filter(|_| !(args.merge && option == "--summary"));
        let is_read = |file: &PathBuf| match file.to_str() {
            Some("-") => {
                plain(output).is_some_and(|file| Handle::stdin().is_ok_and(|it| it == file))
            }
            _ => is_same(file, output),
        };
        if logs.chain(&args.config).chain(&args.marks).any(is_read) {
            let name = terminal::name(output);
            return Err(format!("{option}: {name} is read, and would be lost; name another file"));
        }
    }
    check_different(args)
}

/// Checks that the outputs are two files.
fn check_different(args: &Args) -> Result<(), String> {
    match (&args.summary, &args.svg) {
        (Some(summary), Some(svg)) if is_same(summary, svg) => Err(format!(
            "--svg: {} is the file of the summary; name another one",
            terminal::name(svg)
        )),
        _ => Ok(()),
    }
}

/// Tells whether two paths are the same, lead to one plain file, or would create one. A terminal may be the input and
/// the output.
fn is_same(one: &Path, other: &Path) -> bool {
    let is_one = || matches!((plain(one), plain(other)), (Some(one), Some(other)) if one == other);
    let is_new = || matches!((created(one), created(other)), (Ok(one), Ok(other)) if one == other);
    one == other || is_one() || is_new()
}

/// The identity of a plain file. Nothing else is opened: a pipe would wait for its writer.
fn plain(path: &Path) -> Option<Handle> {
    if fs::metadata(path).ok()?.is_file() { Handle::from_path(path).ok() } else { None }
}

/// The path of a file that may be new, under its folder's own name; an error without such a folder.
fn created(path: &Path) -> io::Result<PathBuf> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = fs::canonicalize(folder.unwrap_or(Path::new(".")))?;
    path.file_name().map(|name| folder.join(name)).ok_or(ErrorKind::InvalidInput.into())
}

/// Writes a summary atomically, and readable only for the owner, since the keys of clients may be addresses. A symlink
/// stays, and leads to the new file. Anything but a plain file, such as a pipe, is written directly.
fn write_summary(summary: &Summary, path: &Path) -> io::Result<()> {
    // The names of open files, such as /dev/stdout, must not be replaced either.
    let is_open = |path: &Path| path.starts_with("/dev") || path.starts_with("/proc");
    let mut path = path.to_owned();
    // The target of the last symlink may be missing. Systems follow at most 40 symlinks.
    for _ in 0..40 {
        let Ok(to) = fs::read_link(&path) else { break };
        if is_open(&path) {
            break;
        }
        path.set_file_name(to);
    }
    if is_open(&path) || fs::metadata(&path).is_ok_and(|found| !found.is_file()) {
        let mut file = io::BufWriter::new(fs::File::create(path)?);
        return summary.write(&mut file).and_then(|()| file.flush());
    }
    ratescope::files::write_with(path, |mut file| summary.write(&mut file))
}

/// A limit that is to be tried.
pub(crate) struct Candidate {
    text: String,
    /// It comes from the configuration in force, and need not fit the log.
    is_in_force: bool,
    /// The prefixes by which it groups IPv4 and IPv6 addresses; `None` for those of the clients.
    prefixes: Option<(u8, u8)>,
    /// The events that it is for.
    only: Only,
}

/// The questions to each log: the arguments, the limits to try, and the marked clients.
pub(crate) struct Task<'a> {
    args: &'a Args,
    /// The limits to try, those of the configuration in force first.
    limits: Vec<Candidate>,
    today: Option<Today>,
    marks: MarkedKeys,
}

impl Task<'_> {
    /// Finds the answer and prints it. Returns the analysis, and the result of printing.
    fn answer(
        &self,
        log: Imported,
        tried: &[Tried],
        out: &mut impl Write,
    ) -> Result<(Analysis, io::Result<()>), ParseError> {
        let Task { args, marks, today, .. } = self;
        let usual = today
            .as_ref()
            .map(Today::target)
            .or(log.usual_server())
            .filter(|_| args.targets.is_empty());
        let usual = usual.map(For::Server);
        let targets: Vec<For> = args.targets.iter().copied().chain(usual).collect();
        let in_force = today.as_ref().and_then(Today::period).filter(|_| log.are_failures());
        let periods = args.periods(in_force.unwrap_or(log.usual_period()));
        let asked = |choices| self.asked(choices, &periods);
        let main = match (&args.by, targets.first()) {
            (Some(by), _) => asked(by.clone()),
            (None, Some(first)) => asked(first.choices()?),
            (None, None) => asked(limited_by("exim")?),
        };
        let mut analysis = Analysis::new(log, main.clone());
        let keys = |keys: &[String]| MarkedKeys(keys.iter().cloned().collect());
        analysis.mark_all(marks, &keys(&args.stop), &keys(&args.without));
        analysis.compare(periods.clone());
        let bucket = Choices { target: Target::Rust, by: None, ..Choices::default() };
        decide(&mut analysis, asked(bucket));
        let bucket = LimitEffect::new(&analysis);
        let servers = targets.iter().map(|target| {
            decide(&mut analysis, asked(target.choices()?));
            Ok(self.server(*target, &analysis))
        });
        let servers = servers.collect::<Result<_, ParseError>>()?;
        analysis.ask(main);
        while !analysis.step(u64::MAX) {}
        let most_refused = analysis.table("", ROWS).0;
        let effect = LimitEffect::new(&analysis);
        let above = Above::new(&analysis);
        let answer = Tuned {
            analysis: &analysis,
            tried,
            effect,
            bucket,
            servers,
            today: today.as_ref(),
            most_refused,
            above,
        };
        let printed = if args.json {
            json::write(&answer, args.follow, out)
        } else {
            text::write(&answer, &mut Visible(out))
        };
        Ok((analysis, printed))
    }

    /// The choices with the first of the periods, and the arguments' aim.
    fn asked(&self, choices: Choices, periods: &[Span]) -> Choices {
        let period = periods.first().copied().unwrap_or(choices.period);
        let untouched = self.args.untouched;
        Choices { period, untouched, order: TableOrder::Refused, ..choices }
    }

    /// The answer for a server, which has been decided.
    fn server(&self, target: For, analysis: &Analysis) -> Server {
        let none = || Err("none of its limits leaves enough clients alone".to_owned());
        let written = match target {
            For::Rules => analysis
                .limiter()
                .map(|limiter| rules::write(&limiter, &analysis.imported().summary.per)),
            For::Server(_) => analysis.configuration(),
        };
        let mut configuration = written.unwrap_or_else(none);
        if let Ok((_, notes)) = &mut configuration
            && self.args.files.len() > 1
            && self.args.merge
            && let For::Server(target) = target
            && target.counts_alone()
        {
            let title = target.title();
            notes.push(format!(
                "{title} counts on each machine by itself: if these logs are of several, a client that \
                 reaches all of them passes as many times as much"
            ));
        }
        Server {
            target,
            effect: LimitEffect::new(analysis),
            above: Above::new(analysis),
            stops: stops(analysis, ROWS),
            configuration,
        }
    }
}

/// Advances the analysis until the limit of `choices` and its effect are known, or nothing is left to do.
fn decide(analysis: &mut Analysis, choices: Choices) {
    analysis.ask(choices);
    while !analysis.is_decided() && !analysis.step(u64::MAX) {}
}

/// The pictures of the page as the text of an SVG file, 1200 pixels wide; `None` without a curve.
fn picture(analysis: &Analysis) -> Option<String> {
    let data = PictureData::new(analysis);
    let picture = Picture::new(&data, analysis.choices())?;
    let size @ [width, height] = [1200.0, height(1200.0)];
    let marks = draw(&picture, &Viewport { size, ..Viewport::default() });
    Some(svg::write(&marks, width, height, Theme::Light))
}

fn named(path: &Path, error: &dyn Error) -> String {
    format!("{}: {error}", terminal::name(path))
}
