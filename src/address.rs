//! Addresses of clients, each in one form, in logs and in requests.
//!
//! An IPv6 address can be written in many ways, and may stand for an IPv4 address. A client with
//! one IPv6 address usually has a whole /64 (RFC 6177, RFC 4941), so a limit for each address would
//! limit nobody. Here addresses that stand for IPv4 become IPv4 first, and the others are grouped:
//!
//! | read | taken as |
//! |---|---|
//! | `192.0.2.7`, `192.0.2.7:4567`, `192.0.2.7:_hidden` | `192.0.2.7` |
//! | `::ffff:192.0.2.7`, `[::ffff:c000:207]:443` | `192.0.2.7` |
//! | `64:ff9b::192.0.2.7` | `192.0.2.7` |
//! | `2001:DB8:0:1:aaaa::1`, `[2001:db8:0:1::2]:443` | `2001:db8:0:1::/64` |
//! | `2001:db8::1`, with a prefix of 128 | `2001:db8::1` |
//! | `mail.example.org` and anything else that is no address | unchanged |
//!
//! # Which addresses stand for IPv4
//! * `::ffff:0:0/96` (IPv4-mapped): a socket for both protocols reports an IPv4 client so.
//! * `64:ff9b::/96` (NAT64, RFC 6052): a translator in front of an IPv6 network reports an IPv4 client
//!   so. Without this step, all clients of IPv4 would share one /64. Only addresses of the internet are
//!   taken out, as section 3.1 demands: so `64:ff9b::10.0.0.1` is never taken for a proxy in
//!   `10.0.0.0/8`.
//! * Not `2002::/16` (6to4) nor `2001::/32` (Teredo). Nothing on the way checks that the IPv4 address
//!   inside is the sender's (RFC 3964), so anybody could send in the name of any IPv4 address, also of
//!   a trusted proxy.

#[cfg(feature = "rules")]
mod networks;

#[cfg(feature = "rules")]
pub use networks::Networks;

use core::fmt::{self, Write};
use core::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// The default prefix in bits by which IPv6 addresses are grouped.
pub const IPV6_PREFIX: u8 = 64;

/// The IPv4 address that an IPv6 address stands for, or else the address itself.
pub(crate) fn canonical(address: IpAddr) -> IpAddr {
    let IpAddr::V6(v6) = address else { return address };
    if let Some(v4) = v6.to_ipv4_mapped() {
        return IpAddr::V4(v4);
    }
    match v6.segments() {
        [0x64, 0xff9b, 0, 0, 0, 0, ..] => {
            let v4 = IpAddr::V4(Ipv4Addr::from_bits(v6.to_bits() as u32));
            if is_internal(v4) { address } else { v4 }
        }
        _ => address,
    }
}

/// Whether an address is internal, such as that of a proxy in front of the server, and so says
/// nothing about who sent a request.
pub(crate) fn is_internal(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(v4) => {
            v4.is_private() || v4.is_loopback() || v4.is_link_local() || v4.is_unspecified()
        }
        IpAddr::V6(v6) => {
            v6.is_unique_local()
                || v6.is_loopback()
                || v6.is_unicast_link_local()
                || v6.is_unspecified()
        }
    }
}

/// Reads an address in its [canonical] form, also with a port, in brackets, or with a zone (`%eth0`).
pub(crate) fn parse(text: &str) -> Option<IpAddr> {
    let begin = text.bytes().next()?;
    if !(begin.is_ascii_hexdigit() || matches!(begin, b':' | b'[')) {
        return None;
    }
    let v6 = |text: &str| {
        let address = match in_full(text) {
            Some(address) => address,
            None => text.split('%').next()?.parse().ok()?,
        };
        Some(canonical(IpAddr::V6(address)))
    };
    if let Some(rest) = text.strip_prefix('[') {
        let (inside, port) = rest.split_once(']')?;
        let is_port = port.is_empty() || port.strip_prefix(':').is_some_and(is_port);
        return v6(inside).filter(|_| is_port);
    }
    match text.split_once(':') {
        None => text.parse().ok().map(IpAddr::V4),
        // An IPv6 address has more than one colon.
        Some((ip, port)) if !port.contains(':') => {
            ip.parse().ok().map(IpAddr::V4).filter(|_| is_port(port))
        }
        Some(_) => v6(text),
    }
}

/// Whether a text is a port, or stands for one that a proxy does not tell, as in `_hidden` (RFC 7239,
/// section 6.2).
fn is_port(text: &str) -> bool {
    match text.strip_prefix('_') {
        Some(name) => name.bytes().all(|b| b.is_ascii_alphanumeric() || b"._-".contains(&b)),
        None => text.bytes().all(|b| b.is_ascii_digit()) && text.len() < 6,
    }
}

/// An IPv6 address in eight groups of digits, as most are written; std takes five times as long.
fn in_full(text: &str) -> Option<Ipv6Addr> {
    let (mut groups, mut place, mut digits) = ([0u16; 8], 0, 0);
    for byte in text.bytes() {
        if byte == b':' {
            (place, digits) = (place + 1, if digits > 0 { 0 } else { return None });
        } else {
            let digit = char::from(byte).to_digit(16)? as u16;
            let group = groups.get_mut(place).filter(|_| digits < 4)?;
            (*group, digits) = (*group << 4 | digit, digits + 1);
        }
    }
    (place == 7 && digits > 0).then(|| Ipv6Addr::from(groups))
}

/// The text of an address in its common form.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Made {
    // The longest is 2001:0db8:... with eight groups of four and a prefix, 43 bytes.
    bytes: [u8; 47],
    length: u8,
}

impl Made {
    /// No text.
    #[cfg(feature = "tower")]
    pub(crate) const EMPTY: Made = Made { bytes: [0; 47], length: 0 };

    /// A word in place of an address, of at most 47 bytes.
    #[cfg(feature = "tower")]
    pub(crate) fn word(word: &str) -> Self {
        let mut made = Made::EMPTY;
        let _ = made.write_ascii(word.as_bytes());
        made
    }

    /// The common form of an address. It must be [canonical] already, as [`parse`] returns it.
    pub(crate) fn of(address: IpAddr, prefix: u8) -> Self {
        let mut made = Made { bytes: [0; 47], length: 0 };
        // Every address fits.
        let _ = match address {
            IpAddr::V6(v6) if prefix < 128 => {
                let bits = v6.to_bits();
                let kept = if prefix == 0 { 0 } else { bits >> (128 - prefix) << (128 - prefix) };
                match prefix {
                    ..=64 => made.write_network(kept, prefix),
                    _ => write!(made, "{}/{prefix}", Ipv6Addr::from_bits(kept)),
                }
            }
            IpAddr::V4(v4) => made.write_v4(v4),
            IpAddr::V6(v6) => write!(made, "{v6}"),
        };
        made
    }

    /// Writes an IPv4 address, each of its numbers from a table, in a tenth of the time that std takes. Its at
    /// most 16 bytes, with a dot at the end that does not count, are put together in a register, since bytes
    /// that are written at once are also read at once.
    fn write_v4(&mut self, v4: Ipv4Addr) -> fmt::Result {
        let (mut all, mut end) = (0, 0);
        for byte in v4.octets() {
            let (text, length) = NUMBERS[usize::from(byte)];
            all |= u128::from(text) << (8 * end);
            end += length;
        }
        let place = self.bytes.first_chunk_mut().ok_or(fmt::Error)?;
        *place = all.to_le_bytes();
        self.length = end - 1;
        Ok(())
    }

    /// Writes an IPv6 address whose second half is zero, in a fifth of the time that std takes. The
    /// zeros at the end are the longest run, so `::` stands for them (RFC 5952).
    fn write_network(&mut self, bits: u128, prefix: u8) -> fmt::Result {
        let groups = Ipv6Addr::from_bits(bits).segments();
        let end = groups.iter().rposition(|group| *group != 0).map_or(0, |last| last + 1);
        for (i, group) in groups.iter().take(end).enumerate() {
            self.write_ascii(if i == 0 { b"" } else { b":" })?;
            let digits =
                [12, 8, 4, 0].map(|shift| b"0123456789abcdef"[usize::from(group >> shift & 15)]);
            let zeros = (group.leading_zeros() / 4).min(3) as usize;
            self.write_ascii(digits.get(zeros..).unwrap_or_default())?;
        }
        self.write_str("::/")?;
        if prefix >= 10 {
            self.write_char(char::from(b'0' + prefix / 10))?;
        }
        self.write_char(char::from(b'0' + prefix % 10))
    }

    fn write_ascii(&mut self, text: &[u8]) -> fmt::Result {
        let from = usize::from(self.length);
        let place = self.bytes.get_mut(from..from + text.len());
        place.ok_or(fmt::Error)?.copy_from_slice(text);
        self.length += text.len() as u8;
        Ok(())
    }

    pub(crate) fn as_bytes(&self) -> &[u8] {
        self.bytes.get(..usize::from(self.length)).unwrap_or_default()
    }

    pub(crate) fn as_str(&self) -> &str {
        str::from_utf8(self.as_bytes()).unwrap_or_default()
    }
}

/// The numbers of an IPv4 address, each with a dot, the first character in the lowest byte; and how long
/// that is.
static NUMBERS: [(u32, u8); 256] = {
    let (mut numbers, mut i) = ([(0, 0); 256], 0);
    while i < 256 {
        let (a, b, c) = (b'0' + (i / 100) as u8, b'0' + (i / 10 % 10) as u8, b'0' + (i % 10) as u8);
        let (text, length) = match i {
            100.. => ([a, b, c, b'.'], 4),
            10.. => ([b, c, b'.', 0], 3),
            _ => ([c, b'.', 0, 0], 2),
        };
        numbers[i] = (u32::from_le_bytes(text), length);
        i += 1;
    }
    numbers
};

impl Write for Made {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        self.write_ascii(text.as_bytes())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_full_as_std_reads_it() {
        let texts = [
            "2001:db8:89fd:ce28:620:e70d:3dd1:1f40",
            "2001:0DB8:0:0000:a:b:c:d",
            "0:0:0:0:0:ffff:c000:207",
            "1:2:3:4:5:6:7",
            "1:2:3:4:5:6:7:8:9",
            "1:2:3:4:5:6:7:",
            ":1:2:3:4:5:6:7",
            "1:2:3::5:6:7:8",
            "1:2:3:4:5:6:7:00008",
            "1:2:3:4:5:6:7:g",
            "1:2:3:4:5:6:192.0.2.1",
            "1:2:3:4:5:6:7:8%eth0",
            "::",
            "",
        ];
        let mut read = 0;
        for text in texts {
            if let Some(address) = in_full(text) {
                assert_eq!(text.parse(), Ok(address), "{text}");
                read += 1;
            }
        }
        assert_eq!(read, 3);
    }
}
