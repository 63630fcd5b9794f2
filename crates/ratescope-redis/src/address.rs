//! The address of a Redis, a cluster, or the sentinels that watch a Redis.

use redis::{Client, ConnectionInfo, ErrorKind, IntoConnectionInfo};
use redis::{RedisConnectionInfo, RedisError, RedisResult};

/// Where the keys are, or who knows it.
#[derive(Debug)]
pub(super) struct Address {
    /// At least one.
    pub(super) servers: Vec<ConnectionInfo>,
    pub(super) kind: Kind,
    /// The user, the password and so on of the masters. Its host is that of a server.
    pub(super) master: ConnectionInfo,
}

/// The kind of the servers of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// The one master.
    Master,
    /// Some nodes of a cluster.
    Nodes,
    /// Sentinels that know the master by this name.
    Sentinels(String),
}

/// The schemes of several servers, and the scheme of each server.
const CLUSTERS: [(&str, &str); 2] =
    [("redis-cluster://", "redis://"), ("rediss-cluster://", "rediss://")];
const SENTINELS: [(&str, &str); 2] =
    [("redis-sentinel://", "redis://"), ("rediss-sentinel://", "rediss://")];

impl Address {
    /// Reads `redis://127.0.0.1:6379/0`, `redis-cluster://user:password@127.0.0.1:7000,127.0.0.1:7001`, or
    /// `redis-sentinel://user:password@127.0.0.1:26379,127.0.0.1:26380/name/0`.
    pub(super) fn read(text: &str) -> RedisResult<Self> {
        let of = |schemes: [(&'static str, &'static str); 2]| {
            let found = |(several, one)| Some((text.strip_prefix(several)?, one));
            schemes.into_iter().find_map(found)
        };
        if let Some((rest, scheme)) = of(CLUSTERS) {
            let (user, nodes) = split_user(rest);
            let url = |node: &str| format!("{scheme}{user}{}", node.trim()).into_connection_info();
            let nodes = nodes.trim_end_matches('/').split(',').map(url);
            return Address::of_cluster(nodes.collect::<RedisResult<_>>()?);
        }
        match of(SENTINELS) {
            Some((rest, scheme)) => Address::read_sentinels(rest, scheme),
            None => Ok(Address::of_one(text.into_connection_info()?)),
        }
    }

    pub(super) fn of_one(master: ConnectionInfo) -> Self {
        Address { servers: vec![master.clone()], kind: Kind::Master, master }
    }

    pub(super) fn of_cluster(servers: Vec<ConnectionInfo>) -> RedisResult<Self> {
        let first = servers.first().cloned();
        let master = first.ok_or((ErrorKind::InvalidClientConfig, "no node is named"))?;
        Ok(Address { servers, kind: Kind::Nodes, master })
    }

    /// This address, by TLS with these certificates.
    #[cfg(feature = "tls")]
    pub(super) fn with_certificates(
        self,
        certificates: &redis::TlsCertificates,
    ) -> RedisResult<Self> {
        let with = |info: ConnectionInfo| {
            Ok(connection(&Client::build_with_tls(info, certificates.clone())?))
        };
        let Address { servers, kind, master } = self;
        let servers = servers.into_iter().map(with).collect::<RedisResult<_>>()?;
        Ok(Address { servers, kind, master: with(master)? })
    }

    /// Reads the rest of an address after the scheme of sentinels. The master's user and password stand before the
    /// hosts, the sentinels' in the query.
    fn read_sentinels(text: &str, scheme: &str) -> RedisResult<Self> {
        let (text, query) = text.split_once('?').unwrap_or((text, ""));
        let (user, text) = split_user(text);
        let (hosts, path) = text.split_once('/').unwrap_or((text, ""));
        let (name, database) = path.split_once('/').unwrap_or((path, ""));
        let mut asking = "";
        let mut password = "";
        let mut rest = Vec::new();
        for pair in query.split('&') {
            match pair.split_once('=') {
                Some(("sentinel_username", name)) => asking = name,
                Some(("sentinel_password", secret)) => password = secret,
                _ => rest.push(pair),
            }
        }
        let asking =
            if password.is_empty() { String::new() } else { format!("{asking}:{password}@") };
        let url = |host: &str| {
            format!("{scheme}{asking}{}", with_port(host.trim())).into_connection_info()
        };
        let sentinels = hosts.split(',').map(url).collect::<RedisResult<_>>()?;
        // The host does not matter: only the login and the database are used.
        let master = format!("{scheme}{user}any/{database}?{}", rest.join("&"));
        let login = master.into_connection_info()?.redis_settings().clone();
        Address::behind(sentinels, name, login)
    }

    /// The master that these sentinels watch under a name. Its connections use TLS as those of the first sentinel do.
    pub(super) fn behind(
        sentinels: Vec<ConnectionInfo>,
        name: &str,
        login: RedisConnectionInfo,
    ) -> RedisResult<Self> {
        let wrong = |help| RedisError::from((ErrorKind::InvalidClientConfig, help));
        let first = sentinels.first().ok_or_else(|| wrong("no sentinel is named"))?;
        if name.is_empty() {
            return Err(wrong("no master is named; write its name after the sentinels"));
        }
        let master = first.clone().set_redis_settings(login);
        Ok(Address { servers: sentinels, kind: Kind::Sentinels(name.to_owned()), master })
    }
}

/// Splits off the user and the password, up to and including the `@`. All servers share them.
fn split_user(text: &str) -> (&str, &str) {
    text.split_at(text.rfind('@').map_or(0, |at| at + 1))
}

/// A sentinel listens at another port than a Redis.
fn with_port(host: &str) -> String {
    // An IPv6 address has colons, too, and stands in brackets.
    let is_given = host.rsplit(']').next().is_some_and(|end| end.contains(':'));
    if is_given { host.to_owned() } else { format!("{host}:26379") }
}

/// The address of a client's server, its user and its database.
pub(super) fn connection(client: &Client) -> ConnectionInfo {
    client.get_connection_info().clone()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, kind, nodes) in [
            ("redis://127.0.0.1:6379/2", "one", "127.0.0.1:6379 2 -"),
            ("unix:///tmp/a,b.sock", "one", "/tmp/a,b.sock 0 -"),
            ("redis-cluster://[::1]:7000/", "cluster", "::1:7000 0 -"),
            ("redis-cluster://a:1, b:2", "cluster", "a:1 0 -; b:2 0 -"),
            ("redis-cluster://me:p,w@a:1,b:2", "cluster", "a:1 0 me p,w; b:2 0 me p,w"),
            ("redis-sentinel://a/main", "main", "a:26379 0 -; a:26379 0 -"),
            ("redis-sentinel://[::1],b:2/main/3", "main", "::1:26379 0 -; b:2 0 -; ::1:26379 3 -"),
            (
                "redis-sentinel://me:p%40w@a:1/main?sentinel_username=you&sentinel_password=s",
                "main",
                "a:1 0 you s; a:1 0 me p@w",
            ),
            ("rediss://a:1", "one", "a:1 0 - tls"),
            ("rediss-cluster://a:1,b", "cluster", "a:1 0 - tls; b:6379 0 - tls"),
            ("rediss-sentinel://a/main", "main", "a:26379 0 - tls; a:26379 0 - tls"),
        ] {
            if text.starts_with("rediss") && !cfg!(feature = "tls") {
                continue;
            }
            let Address { servers: mut infos, kind: read, master } = Address::read(text).unwrap();
            let read = match read {
                Kind::Master => "one".to_owned(),
                Kind::Nodes => "cluster".to_owned(),
                Kind::Sentinels(name) => {
                    infos.push(master);
                    name
                }
            };
            let told = |info: &ConnectionInfo| {
                let redis = info.redis_settings();
                let user = match (redis.username(), redis.password()) {
                    (Some(user), Some(password)) => format!("{user} {password}"),
                    _ => "-".to_owned(),
                };
                let is_tls = matches!(info.addr(), redis::ConnectionAddr::TcpTls { .. });
                let tls = if is_tls { " tls" } else { "" };
                format!("{} {} {user}{tls}", info.addr(), redis.db())
            };
            let told: Vec<String> = infos.iter().map(told).collect();
            assert_eq!((read.as_str(), told.join("; ").as_str()), (kind, nodes), "{text}");
        }
        assert!(Address::read("redis-cluster://").is_err());
        for text in ["redis-sentinel://a", "redis-sentinel://a//0"] {
            let error = Address::read(text).unwrap_err().to_string();
            assert!(error.contains("no master is named"), "{error}");
        }
        assert!(Address::read("redis-sentinel:///main").is_err());
        assert!(Address::read("http://127.0.0.1").is_err());
    }
}
