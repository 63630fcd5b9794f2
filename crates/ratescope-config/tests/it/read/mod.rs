//! The limits that a server has, read from its configuration.

mod beside;
mod given;
mod only;
mod refused;
mod refused_there;
mod scopes;
mod written;

use ratescope_config::Config;

fn read(text: &str) -> Config {
    ratescope_config::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// Remarks on many configurations, with their short forms in these tests.
const SAID: [(&str, &str); 8] = [
    ("rules before it keep some away, and the trial counts those, too: ", "after "),
    ("nothing comes to it, as line", "never, as line"),
    (
        "nftables counts new connections or packets; the trial counts every event of the log",
        "packets",
    ),
    ("it counts connections; the trial counts every event of the log", "connections"),
    (
        "the rule accepts events below its limit, and the next rules decide about the rest; the trial refuses it",
        "accepts",
    ),
    ("a table of type ip has no IPv6 addresses; the trial counts them, too", "no IPv6"),
    ("is unlimited and never refused; the trial counts it, too", "unlimited"),
    (", which is no field of a log", ", no field"),
];

fn short(text: &impl ToString) -> String {
    SAID.iter().fold(text.to_string(), |text, (said, short)| text.replace(said, short))
}

/// A line for each limit, `line | name | limit | scope`, and one for each remark.
fn lines(text: &str) -> Vec<String> {
    let config = read(text);
    let found = config.found.iter().map(|found| {
        let scope = found.scope.as_deref().unwrap_or("-");
        format!("{} | {} | {} | {scope}", found.line, found.name, found.limit)
    });
    found.chain(config.remarks.iter().map(short)).collect()
}

fn error(text: &str) -> String {
    short(&ratescope_config::read(text).map(|config| format!("{config:?}")).unwrap_err())
}
