//! One request in many spellings.
#![allow(dead_code)] // Each test file uses its part.

pub(crate) const RULES: &str = "
domain: web
descriptors:
- {key: path, value: /login, limit: gcra 1/1d}
- {key: path, value: /, limit: gcra 1/1d}
- {key: host, value: api.example.com, limit: gcra 1/1d}
- {key: method, value: POST, limit: gcra 1/1d}
- {key: ip, value: '2001:db8:0:1::/64', limit: gcra 1/1d}
- {key: ip, value: 192.0.2.7, limit: gcra 1/1d}
";

/// Spellings of `/login`.
pub(crate) const LOGIN: &[&str] = &[
    "/login",
    "/login?",
    "/login?a=b",
    "/%6cogin",
    "/%6Cogin",
    "//login",
    "///login",
    "/./login",
    "/x/../login",
    "/%2e/login",
    "/x/%2e%2E/login",
    "/login#a",
    "/login?a#b",
    "http://h/login",
];

/// Paths that some servers take for `/login`, and others do not.
pub(crate) const DOUBTFUL: &[&str] = &[
    "/x%2f..%2flogin",
    "/%2Flogin",
    "/x/..%5clogin",
    "/x\\..\\login",
    "/x/..;/login",
    "/x//../login",
    "/login%00",
    "/%",
];

/// Spellings of `/`.
pub(crate) const ROOT: &[&str] = &["/", "", "?x", "#x", "//", "/x/..", "http://h", "http://h?x"];

pub(crate) const HOSTS: &[&str] = &[
    "api.example.com",
    "API.example.com",
    "api.example.com:80",
    "api.example.com.",
    "Api.Example.Com.:443",
];

/// In each field, all of these are one key.
pub(crate) fn each() -> [(&'static str, &'static [&'static str]); 6] {
    [
        ("path", LOGIN),
        ("path", ROOT),
        ("host", HOSTS),
        ("method", &["POST", "post", "Post"]),
        (
            "ip",
            &[
                "2001:db8:0:1::1",
                "2001:DB8:0:1:ffff::2",
                "2001:db8:0:1::/64",
                "[2001:db8:0:1::9]:443",
            ],
        ),
        ("ip", &["192.0.2.7", "::ffff:192.0.2.7", "192.0.2.7:4567", "64:ff9b::c000:207"]),
    ]
}
