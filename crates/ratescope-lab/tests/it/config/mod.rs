//! The limits that a server has, read from its configuration.

mod read;
mod refused;
mod scopes;
mod written;

use ratescope_lab::config::{self, Config};

fn read(text: &str) -> Config {
    config::read(text).unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// A line for each limit, `line | name | limit | scope`, and one for each remark.
fn lines(text: &str) -> Vec<String> {
    let config = read(text);
    let found = config.found.iter().map(|found| {
        let scope = found.scope.as_deref().unwrap_or("-");
        format!("{} | {} | {} | {scope}", found.line, found.name, found.limit)
    });
    found.chain(config.remarks.iter().map(ToString::to_string)).collect()
}

fn error(text: &str) -> String {
    config::read(text).map(|config| format!("{config:?}")).unwrap_err().to_string()
}
