//! Lines of columns in the order of a [`Layout`]: a given one, a server's, one that the log names itself in headers
//! `#Fields`, or a guessed one.

mod guess;
mod known;

pub use guess::Proposal;

use super::counts::Reason;
use super::instant::Instant;
use super::layout::{Certainty, Layout, of_header};
use super::options::Options;
use super::shape::{Format, FormatRow, Line, LogFormat, LogShape, OnEvent, Parser, pass};
use super::stamp::Stamps;
use super::table::{Excerpt, Named, Table};
use super::wrap::Wrapper;
use std::sync::Arc;

impl Format {
    /// Columns in a known order, given as a [`Layout`] or guessed.
    pub const COLUMNS: Format = Format("columns");
}

pub(super) static ROW: FormatRow = FormatRow {
    servers: &["haproxy", "envoy", "istio", "squid", "w3c", "iis", "alb", "cloudfront"],
    guess_all: guess::guess_all,
    ..FormatRow::new(Format::COLUMNS, &["requests"], guess::guess)
};

impl LogFormat for Arc<Layout> {
    fn variant(&self) -> &str {
        self.text()
    }

    fn open(&self, shape: &LogShape, _: &Options) -> Box<dyn Parser> {
        Box::new(Rows::new(Arc::clone(self), shape.many_peers))
    }

    fn is_divisible(&self, wrappers: &[Wrapper]) -> bool {
        (self.between.is_none() || wrappers.is_empty())
            && (self.has_time() || !wrappers.contains(&Wrapper::Syslog))
    }

    fn layout(&self) -> Option<&Arc<Layout>> {
        Some(self)
    }

    /// Some lines of another program may fit by chance.
    fn least(&self, _is_said: bool) -> Option<(u32, u32)> {
        match self.certainty {
            Certainty::Sure => None,
            Certainty::Known => Some((1, 4)),
            Certainty::Guessed => Some((9, 10)),
        }
    }

    fn fits(&self, line: &str, options: &Options, outer: Option<Instant>) -> bool {
        guess::reads(self, line, options, outer).is_ok()
    }
}

/// Reads lines, reusing its memory.
#[derive(Debug)]
struct Rows {
    /// The columns of the next line.
    layout: Arc<Layout>,
    /// Internal peers are clients, not proxies.
    many_peers: bool,
    values: Vec<Excerpt>,
}

impl Rows {
    fn new(layout: Arc<Layout>, many_peers: bool) -> Self {
        Rows { layout, many_peers, values: Vec::new() }
    }

    /// The event of a line, with the time `outer` if no column has one; `None` for a remark.
    fn read<'a>(
        &'a mut self,
        line: &'a str,
        stamps: &mut Stamps,
        outer: Option<Instant>,
    ) -> Result<Option<(Instant, Table<'a>)>, Reason> {
        let Rows { layout, many_peers, values } = self;
        if let Some(between) = layout.between.filter(|_| line.starts_with('#')) {
            if let Some(named) = of_header(line, between) {
                *layout = named;
            }
            return Ok(None);
        }
        let first = layout.split(line, stamps, *many_peers, values);
        let (layout, time) = match (first, &layout.other) {
            (Ok(time), _) => (&*layout, time),
            (Err(problem), Some(other)) => {
                let time = other.split(line, stamps, *many_peers, values);
                (other, time.map_err(|_| problem)?)
            }
            (Err(problem), None) => return Err(problem),
        };
        let names = Named::Header(&layout.names);
        let table = Table { line, made: "", names, values, places: &layout.places };
        match time.or(outer) {
            Some(instant) => Ok(Some((instant, table))),
            None => Err("no column has a time".into()),
        }
    }
}

impl Parser for Rows {
    fn read(&mut self, line: Line<'_>, on_event: &mut OnEvent<'_>) -> Result<bool, Reason> {
        let outer = line.around.instant(line.stamps);
        Ok(pass(self.read(line.text, line.stamps, outer)?, on_event))
    }

    fn enter(&mut self, layout: &Arc<Layout>) {
        self.layout = Arc::clone(layout);
    }
}
