//! The address of a store, with its password from elsewhere than the command line, which all users of the machine see.

use crate::bounded;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::path::Path;

/// The environment variable with the password of the store.
const VARIABLE: &str = "RATESCOPE_STORE_PASSWORD";

/// The address with the password from the first line of a file or, without a file, from the environment, if it is
/// there.
pub(crate) fn address(url: &str, file: Option<&Path>) -> Result<String, String> {
    let (password, from) = match (file, std::env::var_os(VARIABLE)) {
        (Some(path), _) => (bounded::first_line(path)?, path.display().to_string()),
        (None, Some(value)) => {
            let not_text = |_| format!("{VARIABLE}: it is not UTF-8");
            (value.into_string().map_err(not_text)?, VARIABLE.to_owned())
        }
        (None, None) => return Ok(url.to_owned()),
    };
    if password.is_empty() {
        return Err(format!("{from}: it is empty"));
    }
    with(url, &password)
        .ok_or_else(|| format!("{from}: --store has a password, too; leave one of the two out"))
}

/// The address with this password; `None` if it has a password already.
fn with(url: &str, password: &str) -> Option<String> {
    // A wrong address is refused later, with the reason.
    let Some((scheme, rest)) = url.split_once("://") else { return Some(url.to_owned()) };
    let password = utf8_percent_encode(password, NON_ALPHANUMERIC);
    if scheme == "unix" || scheme.ends_with("+unix") {
        let (_, query) = rest.split_once('?').unzip();
        let is_given = query.unwrap_or("").split('&').any(|pair| pair.starts_with("pass="));
        let sign = if query.is_some() { '&' } else { '?' };
        return (!is_given).then(|| format!("{url}{sign}pass={password}"));
    }
    let (hosts, tail) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
    let (user, hosts) = hosts.rsplit_once('@').unwrap_or(("", hosts));
    (!user.contains(':')).then(|| format!("{scheme}://{user}:{password}@{hosts}{tail}"))
}

#[cfg(test)]
mod tests {
    use super::with;

    #[test]
    fn passwords_are_put_where_addresses_have_them() {
        for (url, expected) in [
            ("redis://127.0.0.1:6379/2", "redis://:a%40b%3A%2F%C3%A9@127.0.0.1:6379/2"),
            ("rediss://me@[::1]", "rediss://me:a%40b%3A%2F%C3%A9@[::1]"),
            ("redis-cluster://a:1,b:2", "redis-cluster://:a%40b%3A%2F%C3%A9@a:1,b:2"),
            (
                "redis-sentinel://me@a/main?sentinel_password=x@y",
                "redis-sentinel://me:a%40b%3A%2F%C3%A9@a/main?sentinel_password=x@y",
            ),
            ("unix:///run/redis.sock", "unix:///run/redis.sock?pass=a%40b%3A%2F%C3%A9"),
            ("redis+unix:///run/a@b?db=1", "redis+unix:///run/a@b?db=1&pass=a%40b%3A%2F%C3%A9"),
            ("nonsense", "nonsense"),
        ] {
            assert_eq!(with(url, "a@b:/é").as_deref(), Some(expected));
        }
        for url in ["redis://:x@a", "redis-cluster://me:@a,b", "unix:///a?db=1&pass=x"] {
            assert_eq!(with(url, "secret"), None, "{url}");
        }
    }
}
