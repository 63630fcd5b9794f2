//! The normal form of paths, hosts and methods.

use proptest::prelude::*;
use ratescope::event::normal::{doubt, host, method, path};

fn merged(target: &str) -> String {
    path(target.as_bytes(), false).into_owned()
}

#[test]
fn one_path_in_all_its_spellings() {
    for login in [
        "/login",
        "/login?a=b",
        "/login?/x/..",
        "/login#a",
        "/login#a?b",
        "/%6cogin",
        "/%6Cogin",
        "/l%6fgi%6E",
        "//login",
        "///login",
        "/./login",
        "/././login",
        "/%2e/login",
        "/x/../login",
        "/x/%2e%2E/login",
        "/x/.%2e/login",
        "/../login",
        "/x/y/../../login",
        "/x//y/../../login",
        "http://example.org/login",
        "HTTPS://u@example.org:80//login?a",
    ] {
        assert_eq!(merged(login), "/login", "{login}");
    }
    for root in
        ["", "/", "?x", "#x", "//", "/.", "/..", "/x/..", "http://h", "http://h?x", "http://h#x"]
    {
        assert_eq!(merged(root), "/", "{root}");
    }
    for (given, normal) in [
        // Other resources, to some servers.
        ("/login/", "/login/"),
        ("/login//", "/login/"),
        ("/login/.", "/login/"),
        ("/login/x/..", "/login/"),
        ("/LOGIN", "/LOGIN"),
        ("/a%2fb", "/a%2Fb"),
        ("/a%2F%2e%2e%2Fb", "/a%2F..%2Fb"),
        ("/%256cogin", "/%256cogin"),
        ("/a\\b", "/a%5Cb"),
        ("/login;a=b", "/login;a=b"),
        // Characters that may stand there are decoded, and all others are escaped.
        ("/%40me%3a%2b", "/@me:+"),
        ("/a b", "/a%20b"),
        ("/a+b", "/a+b"),
        ("/stra\u{df}e", "/stra%C3%9Fe"),
        ("/stra%c3%9fe", "/stra%C3%9Fe"),
        ("/%3f%23", "/%3F%23"),
        ("/%", "/%25"),
        ("/%4", "/%254"),
        ("/%4g", "/%254g"),
        ("/...", "/..."),
        // Texts that are no paths.
        ("*", "*"),
        ("login", "login"),
        ("a//b", "a//b"),
    ] {
        assert_eq!(merged(given), normal, "{given}");
    }
    assert_eq!(path(b"/a\xff%ff", false), "/a%FF%FF");
    for (given, kept) in
        [("//login", "//login"), ("/a//../b", "/a/b"), ("/a///", "/a///"), ("/.//a", "//a")]
    {
        assert_eq!(path(given.as_bytes(), true), kept, "{given}");
    }
}

#[test]
fn hosts_and_methods() {
    for given in [
        "api.example.com",
        "API.example.com",
        "api.example.com:80",
        "api.example.com.",
        "Api.Example.Com.:8080",
        "api.example.com:",
        "api.example.com:80.",
    ] {
        assert_eq!(host(given), "api.example.com", "{given}");
    }
    for (given, normal) in
        [("[::1]:80", "[::1]"), ("[2001:DB8::1]", "[2001:db8::1]"), ("::1", "::1"), ("", "")]
    {
        assert_eq!(host(given), normal, "{given}");
    }
    assert_eq!(
        (method("post"), method("Post"), method("POST")),
        ("POST".into(), "POST".into(), "POST".into())
    );
}

#[test]
fn what_servers_read_in_different_ways() {
    for clear in [
        "/",
        "",
        "/login",
        "/x/../login",
        "//login",
        "/%6cogin",
        "/a;b",
        "/a%20b",
        "/login?%2f",
        "*",
    ] {
        assert_eq!(doubt(clear.as_bytes(), false), None, "{clear}");
    }
    for (given, what) in [
        ("/x%2f..%2Flogin", "an escaped slash"),
        ("/%5clogin", "an escaped backslash"),
        ("/\\login", "a backslash"),
        ("/login%00", "an escaped control character"),
        ("/login%", "a % that is no escape"),
        ("/login%g0", "a % that is no escape"),
        ("/x/..;/login", "a dot segment with a parameter"),
        ("/%2e%2e;a/login", "a dot segment with a parameter"),
        ("/..%3ba/login", "a dot segment with a parameter"),
        ("/x//../login", "an empty segment before a dot segment"),
    ] {
        assert_eq!(doubt(given.as_bytes(), false), Some(what), "{given}");
    }
    assert_eq!(doubt(b"/x//../login", true), None);
}

/// Targets of the bytes that mean something, and a few that do not.
fn targets() -> impl Strategy<Value = Vec<u8>> {
    let piece = prop::sample::select(vec![
        "/", "//", ".", "..", "a", "%", "%2", "%2e", "%2E", "%2f", "%61", "%25", "?", "#", ";",
        "\\", ":", "http://", "h", " ", "\u{e9}", "%C3", "%00", "*", "+",
    ]);
    prop_oneof![
        prop::collection::vec(piece, 0..12).prop_map(|pieces| pieces.concat().into_bytes()),
        prop::collection::vec(any::<u8>(), 0..24),
    ]
}

proptest! {
    #[test]
    fn a_normal_form_is_its_own(target in targets(), keep: bool) {
        let once = path(&target, keep).into_owned();
        prop_assert_eq!(&*path(once.as_bytes(), keep), once.as_str());
        if once.starts_with('/') {
            prop_assert!(once.is_ascii() && once.len() <= 3 * target.len() + 1);
            prop_assert!(!once.contains(['?', '#', '\\', ' ']));
            let mut segments: Vec<&str> = once.split('/').skip(1).collect();
            prop_assert!(!segments.iter().any(|segment| matches!(*segment, "." | "..")));
            segments.pop();
            prop_assert!(keep || !segments.contains(&""));
        }
    }

    #[test]
    fn what_is_said_of_a_path_does_not_depend_on_its_spelling(
        segments in prop::collection::vec("[a-z]{1,3}", 1..5),
        spelled in prop::collection::vec(0..6u8, 1..5),
    ) {
        let plain = format!("/{}", segments.join("/"));
        let each = segments.iter().zip(spelled.iter().cycle());
        let spelled: String = each
            .map(|(segment, how)| match how {
                0 => format!("/{segment}"),
                1 => format!("//{segment}"),
                2 => format!("/./{segment}"),
                3 => format!("/x/../{segment}"),
                4 => segment.bytes().fold("/".to_owned(), |text, byte| format!("{text}%{byte:02x}")),
                _ => format!("/%2E/{segment}"),
            })
            .collect();
        prop_assert_eq!(merged(&spelled), plain);
    }

    #[test]
    fn hosts_and_methods_are_their_own(text in "[A-Za-z0-9.:\\[\\]]{0,12}") {
        let once = host(&text).into_owned();
        prop_assert_eq!(&*host(&once), once.as_str());
        let once = method(&text).into_owned();
        prop_assert_eq!(&*method(&once), once.as_str());
    }
}
