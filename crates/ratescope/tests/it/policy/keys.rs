//! Keys: different values never meet in one, and their parts can be read back.

use proptest::prelude::*;
use ratescope::policy::Per;
use ratescope::{Event, Time};

fn key(per: &str, fields: &[(&str, &str)]) -> String {
    per.parse::<Per>().unwrap().key(&Event { time: Time::ZERO, cost: 1.0, fields: &fields })
}

/// A short text of characters that keys are made of, and of others that could be mistaken for them.
fn value() -> impl Strategy<Value = String> {
    let c = prop::sample::select(vec![
        "", "a", "b", "C", "2", "3", "=", ",", "%", "%2C", "%3D", "_", "+", "{", "}", " ", "\n",
        "\t", "\u{a0}", "&", "/", ":", "é", "e\u{301}", "𝄞", "\0", "a=", ",b=", "\"", "'",
    ]);
    prop::collection::vec(c, 0..4).prop_map(|parts| parts.concat())
}

/// The values that a key was made of, read back as its documentation says.
fn values(key: &str) -> Vec<String> {
    let value = |pair: &str| {
        let (_, value) = pair.split_once('=').unwrap();
        let mut bytes = value.bytes();
        let mut read = Vec::new();
        while let Some(byte) = bytes.next() {
            read.push(if byte == b'%' {
                let digits = [bytes.next().unwrap(), bytes.next().unwrap()];
                u8::from_str_radix(std::str::from_utf8(&digits).unwrap(), 16).unwrap()
            } else {
                byte
            });
        }
        String::from_utf8(read).unwrap()
    };
    key.split(',').map(value).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(5000))]

    #[test]
    fn different_values_never_make_the_same_key(
        a in prop::collection::vec(value(), 1..4),
        b in prop::collection::vec(value(), 3),
    ) {
        let names = &["a", "b", "a_b"][..a.len()];
        let made = |values: &[String]| {
            let fields: Vec<_> =
                names.iter().copied().zip(values.iter().map(String::as_str)).collect();
            key(&names.join("+"), &fields)
        };
        let b = &b[..a.len()];
        let (of_a, of_b) = (made(&a), made(b));
        prop_assert_eq!(of_a == of_b, a == b, "{:?} and {:?}", of_a, of_b);
        prop_assert_eq!(values(&of_a), a);
    }

    /// Between the braces of a Redis key, in a header and in a log.
    #[test]
    fn keys_have_no_braces_or_white_space(name in "[\\p{L}\\p{N}._-]{1,8}", value in value()) {
        prop_assume!(name != "all" && name.parse::<Per>().is_ok());
        let key = key(&name, &[(&name, &value)]);
        let plain = |c: char| !c.is_whitespace() && !c.is_control() && !"{}\"'&+".contains(c);
        prop_assert!(key.chars().all(plain), "{key:?}");
    }
}

#[test]
fn keys_as_written() {
    let mail = [("user", "ann"), ("ip", "192.0.2.7"), ("path", "/login?a=b, c")];
    for (per, written) in [
        ("user", "user=ann"),
        ("ip+user", "ip=192.0.2.7,user=ann"),
        ("path", "path=/login%3Fa%3Db%2C%20c"),
        ("all", ""),
        // Events without a field count together, as if it were empty.
        ("user+referer", "user=ann,referer="),
    ] {
        assert_eq!(key(per, &mail), written);
    }
    assert_eq!(key("user", &[("user", "é%{}")]), "user=%C3%A9%25%7B%7D");
    assert_eq!(key("ip", &[("ip", "2001:db8::1")]), "ip=2001:db8::1");
    // Other programs join values by `_`, which makes one key of these two.
    let joined = [[("a", "b_c"), ("d", "")], [("a", "b"), ("d", "c")]];
    assert_ne!(key("a+d", &joined[0]), key("a+d", &joined[1]));
}

/// Of a name that stands there twice the first counts, and nothing is no field.
#[test]
fn fields_of_an_event() {
    assert_eq!(key("a", &[("a", "1"), ("a", "2")]), "a=1");
    let bare = Event { time: Time::ZERO, cost: 1.0, fields: &() };
    assert_eq!(bare.field("a"), "");
    assert_eq!("a".parse::<Per>().unwrap().key(&bare), "a=");
}

#[test]
fn what_a_limit_is_for() {
    for text in ["user", "ip+path", "all", "x-forwarded-for+user_agent+a.b", "größe"] {
        assert_eq!(text.parse::<Per>().unwrap().to_string(), text);
    }
    assert_eq!("all".parse::<Per>().unwrap(), Per::ALL);
    let help = "write the name of a field, several as in ip+path, or all";
    for (text, part, problem) in [
        ("", "", "a field is missing"),
        ("ip+", "", "a field is missing"),
        ("+ip", "", "a field is missing"),
        ("ip++path", "", "a field is missing"),
        ("ip+all", "all", "everybody together is not a field"),
        ("ip+user+ip", "ip", "a field that is there already"),
        ("user=ann", "user=ann", "not the name of a field"),
        ("user,ip", "user,ip", "not the name of a field"),
        ("{user}", "{user}", "not the name of a field"),
        ("user name", "user name", "not the name of a field"),
    ] {
        let error = text.parse::<Per>().unwrap_err();
        assert_eq!(&text[error.at()], part, "{text}");
        assert_eq!(error.problem(), format!("{problem}; {help}"), "{text}");
    }
}

/// Of secret fields a key has the HMAC, as `openssl dgst -sha1 -hmac ""` computes it.
#[test]
fn secrets_are_hashed() {
    let mail = [("email", "ann@example.org"), ("x-api-key", "5ecret"), ("user", "ann")];
    for (per, written) in [
        ("hash(email)", "email=EMAIL"),
        ("user+hash(email)", "user=ann,email=EMAIL"),
        ("hash(email)+user", "email=EMAIL,user=ann"),
        ("email", "email=ann@example.org"),
        // Credentials are secret without a mark.
        ("x-api-key+user", "x-api-key=API,user=ann"),
        ("hash(x-api-key)", "x-api-key=API"),
        // Nothing is no secret.
        ("Authorization+hash(referer)", "Authorization=,referer="),
    ] {
        let written = written.replace("EMAIL", "#e24317bd70c845aa40565256a470c162");
        let written = written.replace("API", "#4d3b643505e6cbfc6506241becf6e513");
        assert_eq!(key(per, &mail), written, "{per}");
    }
    let long = "x".repeat(300);
    assert_eq!(key("cookie", &[("cookie", &long)]), "cookie=#84e8f02a21b1c04b2080d36dfd1ae878");
}

/// A field of an event can be secret whatever a limit says.
#[test]
fn an_event_says_what_is_secret() {
    struct Secret;
    impl ratescope::event::Fields for Secret {
        fn value(&self, _: &str) -> Option<&str> {
            Some("5ecret")
        }

        fn is_secret(&self, name: &str) -> bool {
            name == "key"
        }
    }
    let event = Event { time: Time::ZERO, cost: 1.0, fields: &&Secret };
    assert_eq!(
        "user+key".parse::<Per>().unwrap().key(&event),
        "user=5ecret,key=#4d3b643505e6cbfc6506241becf6e513"
    );
}

#[test]
fn secrets_as_text() {
    for (read, written) in [
        ("hash(email)", "hash(email)"),
        ("ip+hash(email)+path", "ip+hash(email)+path"),
        ("hash(cookie)", "cookie"),
        ("X_Api_Key", "X_Api_Key"),
    ] {
        let per: Per = read.parse().unwrap();
        assert_eq!((per.to_string().as_str(), per.to_string().parse()), (written, Ok(per)));
    }
    let per: Per = "ip+hash(email)+cookie".parse().unwrap();
    assert_eq!(per.fields(), ["ip", "email", "cookie"]);
    assert_eq!(per.secret_fields().collect::<Vec<_>>(), ["email", "cookie"]);
    assert_eq!(Per::new(["hash(email)"]), "hash(email)".parse());
    let help = "write the name of a field, several as in ip+path, or all";
    for (text, problem) in [
        ("hash()", "a field is missing"),
        ("hash(all)", "everybody together is not a field"),
        ("hash(email", "not a secret field as in hash(email)"),
        ("hash(hash(email))", "not a secret field as in hash(email)"),
        ("hash(a,b)", "not a secret field as in hash(email)"),
        ("email+hash(email)", "a field that is there already"),
        ("md5(email)", "not the name of a field"),
    ] {
        let error = text.parse::<Per>().unwrap_err();
        assert_eq!(error.problem(), format!("{problem}; {help}"), "{text}");
    }
}
