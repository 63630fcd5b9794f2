//! `ratescope test`: tests the rules of a file.

use crate::rules;
use crate::terminal::{Visible, name, until_closed, visible};
use ratescope::rules::cases::{Cases, FailedCase};
use std::error::Error;
use std::fs;
use std::io::{self, Write};
use std::path::PathBuf;

/// Test the rules of a file with events, their times, and the expected result of each
///
/// Time is virtual, and each test begins with empty states. For example, with this cases.yaml:
///
///     tests:
///       - name: five marketing messages a day to a number
///         events:
///           - at: 0
///             fields: {message_type: marketing, to_number: 2061234567}
///             times: 5
///             every: 1s
///             expect: allowed
///           - at: 1m
///             fields: {message_type: marketing, to_number: 2061234567}
///             expect: refused
///             retry_after: 23h59m
///
/// and this rules.yaml:
///
///     domain: messaging
///     descriptors:
///       - key: message_type
///         value: marketing
///         descriptors:
///           - key: to_number
///             rate_limit: {unit: day, requests_per_unit: 5}
///
///     ratescope test rules.yaml cases.yaml
///
/// An event has a time (at: seconds, or a span such as 1m30s; by default the time of the event
/// before), fields and a cost. With times and every it is repeated. In place of fields it may have
/// descriptors, as Envoy sends them, which are decided together, each by the rule with exactly its keys:
///
///     descriptors: [{generic_key: all, remote_address: 192.0.2.7}, {path: /login}]
///
/// These results can be expected:
///
///     expect: allowed, softly or refused
///     by: the name of the rule that decided, or none
///     wait: how long the event waits in a queue
///     retry_after: a span, or never
///     shadow: a list of the shadows that would refuse the event, or none
///
/// load: 80% sets the load of the service, for a whole test or from one event on. A test ends
/// with the first event that fails. The exit status is 1 if any test fails or a file has a mistake.
#[derive(clap::Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Args {
    /// A rule file; - is standard input
    #[arg(value_name = "RULES")]
    rules: PathBuf,

    /// A file of tests
    #[arg(value_name = "CASES")]
    cases: PathBuf,

    /// Also write the results to a file in the form of JUnit, for CI
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
}

/// Runs the tests and prints their results.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let rules = rules::read(&args.rules)?;
    let text = rules::text(&args.cases)?;
    let cases = Cases::read(&name(&args.cases), &text).map_err(rules::told)?;
    rules::note_unknown(&rules, cases.file(), &cases.fields());
    let results = cases.run(&rules);
    if let Some(path) = &args.junit {
        let written = fs::write(path, junit(&cases, &results));
        written.map_err(|error| format!("{}: {error}", name(path)))?;
    }
    until_closed(print(&cases, &results, &mut Visible(io::stdout().lock())))?;
    match results.iter().filter(|failures| !failures.is_empty()).count() {
        0 => Ok(()),
        failed => Err(format!("{failed} of {} tests failed", results.len()).into()),
    }
}

/// The results in the form of JUnit, which CI systems read.
fn junit(cases: &Cases, results: &[Vec<FailedCase>]) -> String {
    let file = attribute(cases.file());
    let failed = results.iter().filter(|failures| !failures.is_empty()).count();
    let all = results.len();
    let mut text = format!(
        "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites>\n<testsuite name=\"{file}\" tests=\"{all}\" \
         failures=\"{failed}\">\n"
    );
    for (test, failures) in cases.names().zip(results) {
        text += &format!("<testcase classname=\"{file}\" name=\"{}\"", attribute(test));
        if failures.is_empty() {
            text += "/>\n";
            continue;
        }
        text += ">\n";
        for failure in failures {
            let why = attribute(&format!("{}:{failure}", cases.file()));
            text += &format!("<failure message=\"{why}\"/>\n");
        }
        text += "</testcase>\n";
    }
    text + "</testsuite>\n</testsuites>\n"
}

/// A text as the value of an attribute. Characters that XML can't have become dots.
fn attribute(text: &str) -> String {
    let shown: String = text.chars().map(ratescope::internal::visible).collect();
    shown.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
}

/// Prints a line for each test, and its failures.
fn print(cases: &Cases, results: &[Vec<FailedCase>], out: &mut impl Write) -> io::Result<()> {
    for (test, failures) in cases.names().zip(results) {
        let word = if failures.is_empty() { "ok" } else { "FAILED" };
        writeln!(out, "{word:6}  {}", visible(test))?;
        for failure in failures {
            writeln!(out, "        {}:{failure}", cases.file())?;
        }
    }
    Ok(())
}
