//! The address of a Redis or a cluster.

use redis::{Client, ConnectionInfo, IntoConnectionInfo, RedisResult};

/// One server, or some nodes of a cluster.
#[derive(Debug)]
pub(super) enum Address {
    One(Box<ConnectionInfo>),
    Cluster(Vec<ConnectionInfo>),
}

/// The schemes of clusters, and those of their nodes.
const CLUSTERS: [(&str, &str); 2] =
    [("redis-cluster://", "redis://"), ("rediss-cluster://", "rediss://")];

impl Address {
    /// Reads `redis://127.0.0.1:6379/0`, or `redis-cluster://user:password@127.0.0.1:7000,127.0.0.1:7001`.
    pub(super) fn read(text: &str) -> RedisResult<Self> {
        let cluster =
            CLUSTERS.iter().find_map(|(scheme, one)| Some((text.strip_prefix(scheme)?, one)));
        let Some((nodes, scheme)) = cluster else {
            return Ok(Address::One(Box::new(text.into_connection_info()?)));
        };
        // The user and the password are the same at all nodes.
        let begin = nodes.rfind('@').map_or(0, |at| at + 1);
        let (user, nodes) = nodes.split_at(begin);
        let url = |node: &str| format!("{scheme}{user}{}", node.trim()).into_connection_info();
        let nodes = nodes.trim_end_matches('/').split(',').map(url);
        Ok(Address::Cluster(nodes.collect::<RedisResult<_>>()?))
    }
}

/// Where a client leads to, and as whom.
pub(super) fn of(client: &Client) -> ConnectionInfo {
    client.get_connection_info().clone()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        for (text, is_cluster, nodes) in [
            ("redis://127.0.0.1:6379/2", false, "127.0.0.1:6379 2 -"),
            ("unix:///tmp/a,b.sock", false, "/tmp/a,b.sock 0 -"),
            ("redis-cluster://[::1]:7000/", true, "::1:7000 0 -"),
            ("redis-cluster://a:1, b:2", true, "a:1 0 -; b:2 0 -"),
            ("redis-cluster://me:p,w@a:1,b:2", true, "a:1 0 me p,w; b:2 0 me p,w"),
            #[cfg(feature = "tls")]
            ("rediss://a:1", false, "a:1 0 - tls"),
            #[cfg(feature = "tls")]
            ("rediss-cluster://a:1,b", true, "a:1 0 - tls; b:6379 0 - tls"),
        ] {
            let (infos, cluster) = match Address::read(text).unwrap() {
                Address::One(info) => (vec![*info], false),
                Address::Cluster(infos) => (infos, true),
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
            assert_eq!((cluster, told.join("; ").as_str()), (is_cluster, nodes), "{text}");
        }
        assert!(Address::read("redis-cluster://").is_err());
        assert!(Address::read("http://127.0.0.1").is_err());
    }
}
