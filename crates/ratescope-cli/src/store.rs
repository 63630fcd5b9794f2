//! The address of a store, with its password from elsewhere than the command line, which all users of the machine see.

use crate::bounded;
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use std::path::Path;

/// The environment variable with the password of the store.
const VARIABLE: &str = "RATESCOPE_STORE_PASSWORD";

/// The address with the password from the first line of a file or, without a file, from the environment, if it is
/// there, and with that of the sentinels from another file.
pub(crate) fn address(
    url: &str,
    file: Option<&Path>,
    of_sentinels: Option<&Path>,
) -> Result<String, String> {
    let url = with_password(url, file)?;
    let Some(path) = of_sentinels else { return Ok(url) };
    let password = bounded::first_line(path)?;
    let from = path.display();
    if !url.contains("-sentinel://") {
        return Err(format!(
            "{from}: --store has no sentinels, as in redis-sentinel://127.0.0.1/mymaster"
        ));
    }
    if password.is_empty() || url.contains("sentinel_password=") {
        return Err(format!("{from}: it is empty, or --store has such a password, too"));
    }
    let password = utf8_percent_encode(&password, NON_ALPHANUMERIC);
    let sign = if url.contains('?') { '&' } else { '?' };
    Ok(format!("{url}{sign}sentinel_password={password}"))
}

fn with_password(url: &str, file: Option<&Path>) -> Result<String, String> {
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
    fn sentinels_have_a_password_of_their_own() {
        let file = std::env::temp_dir().join(format!("ratescope-sentinels-{}", std::process::id()));
        std::fs::write(&file, "a&b\n").unwrap();
        let with = |url: &str| super::address(url, None, Some(&file));
        for (url, expected) in [
            ("redis-sentinel://a/m", "redis-sentinel://a/m?sentinel_password=a%26b"),
            ("rediss-sentinel://a/m?x=y", "rediss-sentinel://a/m?x=y&sentinel_password=a%26b"),
        ] {
            assert_eq!(with(url).as_deref(), Ok(expected));
        }
        for url in ["redis://a", "redis-sentinel://a/m?sentinel_password=x"] {
            assert!(with(url).is_err(), "{url}");
        }
        std::fs::remove_file(&file).unwrap();
    }

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
