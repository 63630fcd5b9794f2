//! Computes the slot of a key, and reads the answers of nodes and sentinels. Sources: the Redis Cluster specification,
//! and the guidelines for clients of Sentinel.

use redis::Value;

/// The number of slots of a cluster.
pub(super) const SLOTS: u16 = 16_384;

/// The slot of a key: the CRC-16 of the text between its first braces, or of the whole key if there is no such text.
pub(super) fn slot(key: &[u8]) -> u16 {
    let find = |text: &[u8], byte| text.iter().position(|b| *b == byte);
    let tag = find(key, b'{').and_then(|open| {
        let rest = key.get(open + 1..)?;
        rest.get(..find(rest, b'}')?).filter(|tag| !tag.is_empty())
    });
    crc16(tag.unwrap_or(key)) % SLOTS
}

/// CRC-16/XMODEM: polynomial 0x1021, from 0, not reflected.
fn crc16(bytes: &[u8]) -> u16 {
    bytes.iter().fold(0, |crc, byte| {
        (0..8).fold(crc ^ u16::from(*byte) << 8, |crc, _| {
            (crc << 1) ^ if crc & 0x8000 == 0 { 0 } else { 0x1021 }
        })
    })
}

/// A range of slots, both ends included, and its master, or the address of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Range<M> {
    pub(super) first: u16,
    pub(super) last: u16,
    pub(super) master: M,
}

/// The host and the port of a server.
pub(super) type Node = (String, u16);

/// Reads the answer to CLUSTER SLOTS of the server at `host`, in the order of slots. Ranges without a known master are
/// left out. There are at most as many ranges as slots.
pub(super) fn ranges(answer: &Value, host: &str) -> Vec<Range<Node>> {
    let Value::Array(items) = answer else { return Vec::new() };
    let ranges = items.iter().filter_map(|item| range(item, host));
    let mut ranges: Vec<Range<Node>> = ranges.take(SLOTS.into()).collect();
    ranges.sort_by_key(|range| range.first);
    ranges
}

fn range(item: &Value, host: &str) -> Option<Range<Node>> {
    let Value::Array(item) = item else { return None };
    let [Value::Int(first), Value::Int(last), Value::Array(master), ..] = item.as_slice() else {
        return None;
    };
    let [name, Value::Int(port), ..] = master.as_slice() else { return None };
    let name = text(name)?;
    let slot = |slot: &i64| u16::try_from(*slot).ok().filter(|slot| *slot < SLOTS);
    let master = (reachable(name, host)?, u16::try_from(*port).ok()?);
    Some(Range { first: slot(first)?, last: slot(last)?, master })
}

/// Reads the address of a master in the answer of the sentinel at `host`.
pub(super) fn named_master(answer: &Value, host: &str) -> Option<Node> {
    let Value::Array(answer) = answer else { return None };
    let [name, port] = answer.as_slice() else { return None };
    Some((reachable(text(name)?, host)?, text(port)?.parse().ok()?))
}

fn text(value: &Value) -> Option<&str> {
    match value {
        Value::Nil => Some(""),
        Value::BulkString(text) => core::str::from_utf8(text).ok(),
        Value::SimpleString(text) => Some(text),
        _ => None,
    }
}

/// The host and the port in a redirection that the server at `host` answered.
pub(super) fn redirected(address: &str, host: &str) -> Option<Node> {
    let (name, port) = address.rsplit_once(':')?;
    Some((reachable(name, host)?, port.parse().ok()?))
}

/// The host that the server at `host` calls `name`; a server may not know its own address.
fn reachable(name: &str, host: &str) -> Option<String> {
    match name {
        "?" => None,
        "" | "0.0.0.0" | "::" => Some(host.to_owned()),
        _ => Some(name.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The check value of the specification, and slots that CLUSTER KEYSLOT prints.
    #[test]
    fn slots_are_those_of_redis() {
        assert_eq!(crc16(b"123456789"), 0x31c3);
        for (key, expected) in [
            ("foo", 12182),
            ("bar", 5061),
            ("{foo}bar", 12182),
            ("a{foo}{bar}", 12182),
            ("foo{}{bar}", 8363),
            ("{foo", slot(b"{foo")),
            ("", 0),
        ] {
            assert_eq!(slot(key.as_bytes()), expected, "{key}");
        }
    }

    #[test]
    fn answers_are_read_as_far_as_they_make_sense() {
        let text = |text: &str| Value::BulkString(text.into());
        let item = |first, last, name: Value, port| {
            let master =
                Value::Array(vec![name, Value::Int(port), text("id"), Value::Array(vec![])]);
            Value::Array(vec![Value::Int(first), Value::Int(last), master.clone(), master])
        };
        let answer = Value::Array(vec![
            item(5461, 10922, text("b"), 2),
            item(0, 5460, Value::Nil, 1),
            item(10923, 10930, text("?"), 3),
            item(10931, 99_999, text("d"), 4),
            item(10931, 10940, text("d"), 70_000),
            Value::Int(7),
        ]);
        let read = |first, last, host: &str, port| {
            let master = (host.to_owned(), port);
            Range { first, last, master }
        };
        let expected = [read(0, 5460, "asked", 1), read(5461, 10922, "b", 2)];
        assert_eq!(ranges(&answer, "asked"), expected);
        assert_eq!(ranges(&Value::Okay, "asked"), []);
        let same = vec![item(0, 5460, text("b"), 2); usize::from(SLOTS) + 1];
        assert_eq!(ranges(&Value::Array(same), "asked").len(), usize::from(SLOTS));
        assert_eq!(redirected(":7001", "asked"), Some(("asked".to_owned(), 7001)));
        assert_eq!(redirected("::1:7001", "asked"), Some(("::1".to_owned(), 7001)));
        assert_eq!(redirected("a", "asked"), None);

        let master = |name: &str, port: &str| Value::Array(vec![text(name), text(port)]);
        assert_eq!(named_master(&master("a", "7001"), "asked"), Some(("a".to_owned(), 7001)));
        assert_eq!(named_master(&master("a", "70001"), "asked"), None);
        assert_eq!(named_master(&Value::Nil, "asked"), None);
    }
}
