//! The address of a Redis or a cluster, as text.

/// One server, as in `redis://127.0.0.1:6379/0`, or some nodes of a cluster, as in
/// `redis-cluster://user:password@127.0.0.1:7000,127.0.0.1:7001`. It holds the URLs of servers, not
/// checked yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Address {
    One(String),
    Cluster(Vec<String>),
}

const CLUSTER: &str = "redis-cluster://";

impl Address {
    pub(super) fn new(text: &str) -> Self {
        let Some(nodes) = text.strip_prefix(CLUSTER) else {
            return Address::One(text.to_owned());
        };
        // The user and the password are the same at all nodes.
        let begin = nodes.rfind('@').map_or(0, |at| at + 1);
        let (user, nodes) = nodes.split_at(begin);
        let url = |node: &str| format!("redis://{user}{}", node.trim());
        Address::Cluster(nodes.trim_end_matches('/').split(',').map(url).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses() {
        let one = |url: &str| Address::One(url.to_owned());
        let cluster = |urls: &[&str]| Address::Cluster(urls.iter().map(|&u| u.into()).collect());
        for (text, address) in [
            ("redis://127.0.0.1:6379/2", one("redis://127.0.0.1:6379/2")),
            ("unix:///tmp/a,b.sock", one("unix:///tmp/a,b.sock")),
            ("redis-cluster://[::1]:7000/", cluster(&["redis://[::1]:7000"])),
            ("redis-cluster://a:1, b:2", cluster(&["redis://a:1", "redis://b:2"])),
            (
                "redis-cluster://me:p,w@a:1,b:2",
                cluster(&["redis://me:p,w@a:1", "redis://me:p,w@b:2"]),
            ),
            ("redis-cluster://", cluster(&["redis://"])),
        ] {
            assert_eq!(Address::new(text), address, "{text}");
        }
    }
}
