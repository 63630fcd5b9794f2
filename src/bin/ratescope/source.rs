//! Which log is read and how, as it is said on the command line: the same for every command that
//! reads one.

use ratescope::log::{Alias, Cost, Filter, Format, Options, Shape, Spread, Statuses, Unit, Year};
use ratescope::policy::Per;
use ratescope::{Span, Time};
use std::num::NonZeroU8;
use std::time::SystemTime;

#[derive(clap::Args)]
#[command(next_help_heading = "Reading the log")]
pub(crate) struct Source {
    /// The format of the log: combined, json, exim, syslog or csv; guessed from its first lines
    /// unless it is said
    #[arg(long, value_name = "FORMAT")]
    log: Option<Format>,

    /// Whom a limit without "per" is for: a field, several as in ip+path, or all; unless it is said
    /// ip, and of csv the column key or else all
    #[arg(long, value_name = "FIELDS")]
    key: Option<Per>,

    /// What an event counts for: 1, bytes, or another field with a number
    #[arg(long, value_name = "FIELD")]
    cost: Option<Cost>,

    /// Only requests whose path begins so; several with commas
    #[arg(long = "path", value_name = "PREFIX", value_delimiter = ',')]
    paths: Vec<String>,

    /// Only requests with this method, such as POST; several with commas
    #[arg(long = "method", value_name = "METHOD", value_delimiter = ',')]
    methods: Vec<String>,

    /// Only requests with this answer: 404, 4xx or 400-403; several with commas
    #[arg(long = "status", value_name = "STATUS", value_delimiter = ',')]
    statuses: Vec<Statuses>,

    /// Of syslog, the lines whose message has this text, in place of failed logins
    #[arg(long = "message", value_name = "TEXT")]
    messages: Vec<String>,

    /// Of IPv6 addresses, how many bits make the field ip
    #[arg(long, value_name = "BITS", default_value_t = ratescope::log::IPV6_PREFIX,
          value_parser = clap::value_parser!(u8).range(0..=128))]
    ipv6_prefix: u8,

    /// How many segments of a path make the field path; all unless it is said
    #[arg(long, value_name = "N")]
    path_depth: Option<NonZeroU8>,

    /// Which field of json or csv is meant by a name, as in time=when or ip=client.address
    #[arg(long = "field", value_name = "NAME=FIELD")]
    aliases: Vec<Alias>,

    /// What times in numbers count: s, ms, us or ns; guessed from their size unless it is said
    #[arg(long, value_name = "UNIT")]
    time_unit: Option<Unit>,

    /// The year of the first line, where lines have none; the last one that fits unless it is said
    #[arg(long, value_name = "YEAR", value_parser = clap::value_parser!(i32).range(1..=9999))]
    year: Option<i32>,

    /// How late a line may be to be put in order, up to 1h; 1m, and csv is taken as it comes, unless
    /// it is said
    #[arg(long, value_name = "SPAN")]
    slack: Option<Span>,

    /// Spread the events of every second evenly over it, also where their times have decimals
    #[arg(long, conflicts_with = "no_spread")]
    spread: bool,

    /// Leave times in whole seconds as they are; else the events of a second are spread evenly over
    /// it, as they would all be one burst
    #[arg(long)]
    no_spread: bool,
}

impl Source {
    /// How the log is read.
    pub(crate) fn options(&self) -> Options {
        let now = Time::from(SystemTime::now());
        Options {
            format: self.log,
            aliases: self.aliases.clone(),
            unit: self.time_unit,
            year: self.year.map_or(Year::Before(now), Year::First),
            filter: Filter {
                paths: self.paths.clone(),
                methods: self.methods.clone(),
                statuses: self.statuses.clone(),
                messages: self.messages.clone(),
            },
            cost: self.cost.clone(),
            ipv6_prefix: self.ipv6_prefix,
            path_depth: self.path_depth,
        }
    }

    /// Whom a limit is for that does not say.
    pub(crate) fn key(&self, shape: &Shape) -> Per {
        self.key.clone().unwrap_or_else(|| shape.usual_key())
    }

    /// How late a line may be; none where the events are taken as they come.
    pub(crate) fn slack(&self, shape: &Shape) -> Option<Span> {
        self.slack.or(shape.usual_slack(self.spread()))
    }

    /// Whether times in whole seconds are spread.
    pub(crate) fn spread(&self) -> Spread {
        match (self.spread, self.no_spread) {
            (true, _) => Spread::Always,
            (_, true) => Spread::Never,
            _ => Spread::Coarse,
        }
    }
}
