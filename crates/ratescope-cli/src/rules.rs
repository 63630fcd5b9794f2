//! Reading rule files, for the commands that take one.

use crate::bounded;
use crate::terminal::{name, pair, say};
use ratescope::policy::Defaults;
use ratescope::rules::{LONGEST, Networks, Rules, RulesError, Step, Value, decode};
use ratescope::{ParseError, Policy};
use ratescope_service::{Form, Forms, other_format};
use std::collections::HashSet;
use std::error::Error;
use std::path::Path;

// How fields are read. (Its doc comment would become that of the command.)
#[derive(clap::Args)]
pub(crate) struct FormArgs {
    /// The form of a field: path, host, method, ip or text, as in url=path. All but text are read in a normal form, in
    /// which /login, //login and /%6cogin?a are the same. path, host, method and ip have the form of their name, and
    /// remote_address is an ip
    #[arg(long, value_name = "NAME=FORM", value_parser = form)]
    form: Vec<(String, Form)>,

    /// Keep runs of slashes in paths; otherwise a run counts as one slash
    #[arg(long)]
    keep_slashes: bool,
}

impl FormArgs {
    pub(crate) fn forms(&self) -> Forms {
        let mut forms = Forms { keep_slashes: self.keep_slashes, ..Forms::default() };
        forms.each.extend(self.form.iter().cloned());
        forms
    }
}

fn form(text: &str) -> Result<(String, Form), String> {
    let (name, form) = pair(text, "write a field and its form as NAME=FORM")?;
    Ok((name, form.parse().map_err(|error: ParseError| error.to_string())?))
}

/// The text of a file, or of standard input for `-`; errors name the file.
pub(crate) fn text(path: &Path) -> Result<String, Box<dyn Error>> {
    let name = name(path);
    let bytes =
        bounded::beginning(path, LONGEST + 1).map_err(|error| format!("{name}: {error}"))?;
    decode(&name, bytes).map_err(told)
}

pub(crate) fn read(path: &Path) -> Result<Rules, Box<dyn Error>> {
    let text = text(path)?;
    let name = name(path);
    let rules = Rules::read(&name, &text).map_err(|error| match other_format(&text) {
        Some(instead) => format!("{name}: {instead}").into(),
        None => told(error),
    })?;
    for remark in rules.remarks() {
        say(&format!("note: {name}:{remark}"));
    }
    Ok(rules)
}

/// Reads a policy, and prints remarks on parts that were not read as they are written.
pub(crate) fn policy(text: &str, defaults: &Defaults) -> Result<Policy, ParseError> {
    let (policy, remarks) = Policy::read_with_remarks(text, defaults)?;
    for remark in remarks {
        say(&format!("note: {remark}"));
    }
    Ok(policy)
}

/// Prints the fields of `place` that no rule uses, since they may be misspelled.
pub(crate) fn note_unknown(rules: &Rules, place: &str, fields: &[&str]) {
    let known: HashSet<&str> = rules.fields().into_iter().collect();
    let unknown: Vec<&str> = fields.iter().copied().filter(|name| !known.contains(name)).collect();
    if !unknown.is_empty() {
        let file = rules.file();
        let unknown = unknown.join(", ");
        say(&format!("note: {place} has fields that no rule of {file} is about: {unknown}"));
    }
}

/// Prints the values that are networks: values are compared as texts, and no address equals a network.
pub(crate) fn note_networks(rules: &Rules) {
    let file = rules.file();
    let mut told = HashSet::new();
    let steps =
        rules.rules().iter().flat_map(|rule| rule.path().iter().map(move |step| (rule, step)));
    for (rule, step) in steps {
        let Step { key, value: Value::Is(text), .. } = step else { continue };
        // Envoy's masked addresses are such texts, and so is the IPv6 address of a client in a layer.
        let is_text = key.starts_with("masked") || text.ends_with("/64");
        if text.contains('/') && !is_text && text.parse::<Networks>().is_ok() && told.insert(step) {
            let line = rule.line();
            say(&format!(
                "note: {file}:{line}: {key} is compared with the text {text}; for the addresses in it, write \
                 network: {text}"
            ));
        }
    }
}

/// An error of several lines: the first, after "error: ", names the file, and each further line is a mistake.
pub(crate) fn told(error: RulesError) -> Box<dyn Error> {
    let n = error.mistakes().len();
    let mistakes = if n == 1 { "a mistake" } else { "mistakes" };
    format!("{mistakes} in {}\n{error}", error.file()).into()
}
