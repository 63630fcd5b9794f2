//! The options for reading a log, the same for every command that reads one.

use crate::terminal;
use ratescope::policy::Per;
use ratescope::{Span, Time};
use ratescope_lab::tune::{ReadOptions, path};
use ratescope_log::{
    Alias, Cost, Filter, Format, IPV6_PREFIX, Layout, LogShape, Options, Spread, Statuses, Test,
    Unit, WrittenTime, Year, ipv6_prefix,
};
use std::fs::File;
use std::io::{self, Read};
use std::num::NonZeroU8;
use std::path::Path;
use std::sync::Arc;
use std::time::SystemTime;

// Not `SETTINGS` of the page: these name files, formats and filters, for which the page has controls, and clap makes
// help and completions of them. (A doc comment here would become the help of each command.)
#[derive(clap::Args)]
#[command(next_help_heading = "Reading the log")]
pub(crate) struct LogArgs {
    /// The format of the log: combined, json, exim, syslog, csv or columns, or a server that writes it, such
    /// as nginx; by default it is guessed from the first lines
    #[arg(long, value_name = "FORMAT")]
    log: Option<Format>,

    /// The columns of the log, as in nginx's log_format or Apache's LogFormat, such as
    /// '$remote_addr [$time_local] "$request"'; or the whole line of the configuration. The form of a time may be said
    /// as for strftime, as in '$remote_addr [%d.%m.%Y %H:%M:%S]' or '%h [%{%d.%m.%Y %T}t]'
    #[arg(long = "log-format", value_name = "COLUMNS", conflicts_with = "log")]
    layout: Option<Layout>,

    /// The key of a limit without "per": a field, several as in ip+path, or all; by default ip, and for
    /// csv the column key, or all if there is no such column
    #[arg(long, value_name = "FIELDS")]
    key: Option<Per>,

    /// Leave out events that have no field of the key; by default they are one client
    #[arg(long)]
    only_keyed: bool,

    /// The cost of an event: 1, bytes, another field with a number, or recipients of Exim's log, which has them with
    /// log_selector = +received_recipients
    #[arg(long, value_name = "FIELD")]
    cost: Option<Cost>,

    /// Only requests whose path begins with this; several with commas
    #[arg(long = "path", value_name = "PREFIX", value_delimiter = ',', value_parser = path)]
    paths: Vec<String>,

    /// Only requests with this method, such as POST; several with commas
    #[arg(long = "method", value_name = "METHOD", value_delimiter = ',')]
    methods: Vec<String>,

    /// Only requests with this status: 404, 4xx or 400-403; several with commas
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',')]
    statuses: Vec<Statuses>,

    /// Only events from this time on, such as 2026-11-22 or 2026-11-22T10:05, in UTC unless a zone is given
    #[arg(long, value_name = "TIME")]
    since: Option<WrittenTime>,

    /// Only events before this time
    #[arg(long, value_name = "TIME")]
    until: Option<WrittenTime>,

    /// Only events whose field matches: ip=192.0.2.0/24 (a network), path=/api (its beginning), agent=bot (a part
    /// of any other field), or path~^/v[12]/ (a regular expression). If given several times, all must match
    #[arg(long = "where", value_name = "FIELD=TEXT")]
    also: Vec<Test>,

    /// Leave out events whose field matches, written as for --where. If given several times, each leaves out more
    #[arg(long = "not", value_name = "FIELD=TEXT")]
    not: Vec<Test>,

    /// For syslog: lines whose message contains this text, instead of failed logins
    #[arg(long = "message", value_name = "TEXT")]
    messages: Vec<String>,

    /// How many bits of an IPv6 address make the field ip; by default 64, or as many as the limits of --config count by
    #[arg(long, value_name = "BITS", value_parser = ipv6_prefix)]
    pub(crate) ipv6_prefix: Option<u8>,

    /// How many segments of a path make the field path; by default all
    #[arg(long, value_name = "N", value_parser = depth)]
    path_depth: Option<NonZeroU8>,

    /// Read a standard field of json or csv from another one, as in time=when or ip=client.address
    #[arg(long = "field", value_name = "NAME=FIELD")]
    aliases: Vec<Alias>,

    /// The unit of times that are numbers: s, ms, us or ns; by default it is guessed from their size
    #[arg(long, value_name = "UNIT")]
    time_unit: Option<Unit>,

    /// The year of the first line, for times without a year; by default the latest one that fits
    #[arg(long, value_name = "YEAR", default_value_t, hide_default_value = true)]
    year: Year,

    /// Sort lines by time that are up to this late: by default 1m, and csv not at all; more than 1h counts as 1h
    #[arg(long, value_name = "SPAN")]
    slack: Option<Span>,

    /// Spread the events of every second evenly over it, even if their times have decimals
    #[arg(long, conflicts_with = "no_spread")]
    spread: bool,

    /// Leave times in whole seconds unchanged; by default the events of such a second are spread evenly
    /// over it, since they would otherwise look like one burst
    #[arg(long)]
    no_spread: bool,
}

fn depth(text: &str) -> Result<NonZeroU8, &'static str> {
    text.parse().map_err(|_| "write a number from 1 to 255")
}

impl LogArgs {
    pub(crate) fn options(&self) -> Options {
        let now = Time::from(SystemTime::now());
        Options {
            format: self.log,
            layout: self.layout.clone().map(Arc::new),
            key: self.key.clone(),
            only_keyed: self.only_keyed,
            aliases: self.aliases.clone(),
            unit: self.time_unit,
            year: self.year.or_before(now),
            filter: Filter {
                paths: self.paths.clone(),
                methods: self.methods.clone(),
                statuses: self.statuses.clone(),
                messages: self.messages.clone(),
                since: self.since.clone(),
                until: self.until.clone(),
                also: self.also.clone(),
                not: self.not.clone(),
            },
            cost: self.cost.clone(),
            ipv6_prefix: self.ipv6_prefix.unwrap_or(IPV6_PREFIX),
            path_depth: self.path_depth,
        }
    }

    /// The options of the reader and of the order of its events, and the key.
    pub(crate) fn reading(&self) -> ReadOptions {
        ReadOptions { options: self.options(), spread: self.spread(), slack: self.slack }
    }

    /// Warns of an option that has no effect on a log of this shape.
    pub(crate) fn warn(&self, shape: &LogShape) {
        if !self.aliases.is_empty() && !shape.takes_aliases() {
            terminal::say(&format!(
                "note: --field is for json and csv, so it has no effect on {shape}"
            ));
        }
    }

    /// How late a line may be; `None` if events are not sorted.
    pub(crate) fn slack(&self, shape: &LogShape) -> Option<Span> {
        self.slack.or(shape.usual_slack(self.spread()))
    }

    /// When events are spread over their second.
    pub(crate) fn spread(&self) -> Spread {
        match (self.spread, self.no_spread) {
            (true, _) => Spread::Always,
            (_, true) => Spread::Never,
            _ => Spread::Coarse,
        }
    }
}

/// Opens the file at `path`, or standard input for `-`. Also returns the length of a file in bytes.
pub(crate) fn open(path: &Path) -> io::Result<(Box<dyn Read + Send>, Option<u64>)> {
    if path.as_os_str() == "-" {
        return Ok((Box::new(io::stdin()), None));
    }
    let file = File::open(path)?;
    // A pipe has the length 0.
    let length = Some(file.metadata()?.len()).filter(|length| *length > 0);
    Ok((Box::new(file), length))
}
