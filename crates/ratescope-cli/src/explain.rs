//! `ratescope explain`: which rules apply to an event.

use crate::bounded;
use crate::rules;
use crate::terminal::{Visible, pair, until_closed};
use ratescope::event::{Descriptor, Fields};
use ratescope::policy::KeySecret;
use ratescope::rules::{Rule, Rules, Why};
use ratescope::{Event, Time};
use std::error::Error;
use std::io::{self, Write};
use std::path::PathBuf;

/// Say which rules of a file apply to an event, with which keys, and why the others do not
///
/// An event has to pass all rules that apply, and counts in all of them or in none. For example:
///
///     ratescope explain rules.yaml user=ann ip=192.0.2.7 path=/login
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A rule file; - is standard input
    #[arg(value_name = "RULES")]
    file: PathBuf,

    /// The fields of the event, each as NAME=VALUE
    #[arg(value_name = "NAME=VALUE", value_parser = field)]
    fields: Vec<(String, String)>,

    /// The fields are one descriptor, in this order, as Envoy sends it: then only the rule with exactly these keys
    /// applies
    #[arg(long)]
    descriptor: bool,

    /// The file with the secret of `ratescope run`, for the keys of secret fields
    #[arg(long, value_name = "FILE")]
    key_secret_file: Option<PathBuf>,
}

fn field(text: &str) -> Result<(String, String), String> {
    pair(text, "write a field as NAME=VALUE").map(|(name, value)| (name, value.to_owned()))
}

/// Prints the rules that apply, and the others.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let mut rules = rules::read(&args.file)?;
    if let Some(path) = &args.key_secret_file {
        rules = rules.with_key_secret(KeySecret::new(bounded::first_line(path)?.as_bytes()));
    }
    let fields: Vec<&str> = args.fields.iter().map(|(name, _)| name.as_str()).collect();
    for (i, name) in fields.iter().enumerate() {
        if fields.iter().take(i).any(|before| before == name) {
            return Err(format!("the field {name} has two values; an event has one").into());
        }
    }
    rules::note_unknown(&rules, "the event", &fields);
    until_closed(print(&rules, args, &mut Visible(io::stdout().lock())))
}

fn print(rules: &Rules, args: &Args, out: &mut impl Write) -> io::Result<()> {
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &args.fields };
    let sent = Sent::new(&args.fields);
    let of_descriptor: Option<Vec<&str>> = args
        .descriptor
        .then(|| rules.matching(&sent).into_iter().map(|rule| rule.name()).collect());
    let applies = |rule: &Rule, why: &Why<'_>| match &of_descriptor {
        Some(names) => names.contains(&rule.name()),
        None => matches!(why, Why::Applies),
    };
    let (apply, others): (Vec<_>, Vec<_>) =
        rules.explain(&args.fields).into_iter().partition(|(rule, why)| applies(rule, why));
    match apply.len() {
        0 => writeln!(out, "no rule applies: the event is not limited")?,
        n => writeln!(out, "{n} of {} rules apply:", rules.rules().len())?,
    }
    for (i, (rule, _)) in apply.iter().enumerate() {
        writeln!(out, "{}. {} (line {}){}", i + 1, rule.name(), rule.line(), remark(rule))?;
        for limit in rule.limits() {
            let key = limit.per.key(&event);
            let key = if key.is_empty() { "all together" } else { &key };
            writeln!(out, "   {limit}: counts for {key}")?;
        }
        if let [_, ..] = rule.relaxed() {
            writeln!(out, "   throttle: {}", rule.throttle())?;
        }
    }
    if let [_, ..] = others.as_slice() {
        writeln!(out, "these do not apply:")?;
    }
    for (rule, why) in others {
        let why = match why {
            Why::Applies => "the descriptor has not exactly its keys".to_owned(),
            why => why.to_string(),
        };
        writeln!(out, "   {} (line {}): {why}", rule.name(), rule.line())?;
    }
    Ok(())
}

/// The fields as one descriptor of Envoy.
struct Sent<'a> {
    entries: Vec<(&'a str, &'a str)>,
}

impl<'a> Sent<'a> {
    fn new(fields: &'a [(String, String)]) -> Self {
        let entries = fields.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        Sent { entries: entries.collect() }
    }
}

impl Fields for Sent<'_> {
    fn value(&self, name: &str) -> Option<&str> {
        self.entries.iter().find(|(known, _)| *known == name).map(|(_, value)| *value)
    }

    fn descriptor(&self) -> Option<Descriptor<'_>> {
        Some(Descriptor { entries: &self.entries, is_first: true })
    }
}

fn remark(rule: &Rule) -> &'static str {
    match (rule.limits(), rule.is_shadow()) {
        ([], _) => ": not limited",
        (_, true) => ": a shadow, which refuses nothing",
        _ => "",
    }
}
