//! Which messages are failed logins, and of whom.

use super::read;
use super::table::rows;
use ratescope_log::{Filter, Options, Year};

fn options() -> Options {
    Options { year: Year::First(2000), ..Options::default() }
}

/// The clients of the failed logins in lines without their time and host, with a dash for an unknown one.
fn clients(lines: &[String]) -> String {
    let log: String = lines.iter().map(|line| format!("Oct 10 13:55:36 web1 {line}\n")).collect();
    let read = read(log.as_bytes(), &options(), ["ip"]);
    let each = read.fields().into_iter().flatten().map(|ip| if ip.is_empty() { "-" } else { ip });
    each.collect::<Vec<_>>().join(" ")
}

/// As fail2ban's default filters decide, with the messages about connections that ended without a login.
#[test]
fn each_message_alone() {
    for [message, want] in rows(
        "
        # OpenSSH.
        sshd[1]: Failed password for root from 192.0.2.7 port 5 ssh2 | 192.0.2.7
        sshd[1]: Failed password for invalid user a b from 192.0.2.7 port 5 ssh2 | 192.0.2.7
        sshd[1]: Failed keyboard-interactive/pam for illegal user x from 2001:db8:1:2::7 port 5 ssh2 | 2001:db8:1:2::/64
        sshd[1]: Failed keyboard-interactive for <invalid username> from 192.0.2.7 port 5 ssh2 | 192.0.2.7
        sshd[1]: Failed none for invalid user x from 192.0.2.7 port 5 ssh2 | 192.0.2.7
        sshd[1]: Failed password for root from host.example.org port 5 ssh2 | host.example.org
        sshd[1]: Failed publickey for ann from 192.0.2.7 port 5 ssh2: ED25519 SHA256:x | \"\"
        sshd[1]: Failed publickey for invalid user x from 192.0.2.7 port 5 ssh2: RSA SHA256:x | 192.0.2.7
        sshd[1]: Accepted publickey for ann from 192.0.2.7 port 5 ssh2: ED25519 SHA256:x | \"\"
        sshd-session[1]: Invalid user admin from 192.0.2.7 port 5 | 192.0.2.7
        sshd[1]: Illegal user admin from 192.0.2.7 | 192.0.2.7
        sshd[1]: Connection closed by authenticating user root 192.0.2.7 port 5 [preauth] | 192.0.2.7
        sshd[1]: Connection reset by invalid user a b 192.0.2.7 port 5 [preauth] | 192.0.2.7
        sshd[1]: Disconnected from authenticating user root 192.0.2.7 port 5 [preauth] | 192.0.2.7
        sshd[1]: Disconnecting authenticating user root 192.0.2.7 port 5: Too many authentication failures [preauth] | 192.0.2.7
        sshd[1]: Disconnecting invalid user x 192.0.2.7 port 5: Change of username or service not allowed: (x,ssh-connection) -> (y,ssh-connection) [preauth] | 192.0.2.7
        sshd[1]: Connection closed by 192.0.2.7 port 5 [preauth] | \"\"
        sshd[1]: Disconnected from user ann 192.0.2.7 port 5 | \"\"
        sshd[1]: Received disconnect from 192.0.2.7 port 5:11: Bye Bye [preauth] | \"\"
        sshd[1]: error: Received disconnect from 192.0.2.7 port 5:3: com.jcraft.jsch.JSchException: Auth fail [preauth] | 192.0.2.7
        sshd[1]: error: maximum authentication attempts exceeded for invalid user admin from 192.0.2.7 port 5 ssh2 [preauth] | 192.0.2.7
        sshd[1]: error: PAM: Authentication failure for root from 192.0.2.7 | 192.0.2.7
        sshd[1]: error: PAM: authentication error for illegal user x from 192.0.2.7 via 198.51.100.1 | 192.0.2.7
        sshd[1]: User root from 192.0.2.7 not allowed because not listed in AllowUsers | 192.0.2.7
        sshd[1]: ROOT LOGIN REFUSED FROM 192.0.2.7 port 5 [preauth] | 192.0.2.7
        sshd[1]: refused connect from x (192.0.2.7) | 192.0.2.7
        sshd[1]: pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=192.0.2.7  user=root | 192.0.2.7
        sshd(pam_unix)[1]: authentication failure; logname= uid=0 euid=0 tty=NODEVssh ruser= rhost=192.0.2.7  user=root | 192.0.2.7
        sshd(pam_unix)[1]: check pass; user unknown | \"\"
        sshd[1]: pam_unix(sshd:session): session opened for user ann by (uid=0) | \"\"
        sshd[1]: [ID 800047 auth.info] Failed password for james from 192.0.2.7 port 5 ssh2 | 192.0.2.7
        # Text that the client chose.
        sshd[1]: Failed hostbased for dan from 192.0.2.7 port 5 ssh2: RSA 8c:e3, client user \"dan from 203.0.113.9 port 22 ssh2\", client host \"pc\" | 192.0.2.7
        sshd[1]: Failed password for root from 192.0.2.7 port 5 ssh1: ruser from 203.0.113.9 port 22 | 192.0.2.7
        sshd[1]: Failed password for root from 192.0.2.7 port 5 ssh1: ruser x from 203.0.113.9 port 22 ssh1 | 192.0.2.7
        sshd[1]: Failed password for invalid user x from 203.0.113.9 port 22 ssh2 from 192.0.2.7 port 5 ssh2 | 192.0.2.7
        sshd[1]: Invalid user x from 203.0.113.9 port 22 from 192.0.2.7 port 5 | 192.0.2.7
        sshd[1]: Connection closed by invalid user x 203.0.113.9 port 22 192.0.2.7 port 5 [preauth] | 192.0.2.7
        sshd[1]: Disconnecting invalid user x 203.0.113.9 port 22: y 192.0.2.7 port 5: Too many authentication failures [preauth] | -
        sshd[1]: error: maximum authentication attempts exceeded for invalid user x from 203.0.113.9 port 5 from 192.0.2.7 port 5 ssh2 [preauth] | 192.0.2.7
        # Postfix.
        postfix/smtpd[1]: warning: unknown[192.0.2.7]: SASL LOGIN authentication failed: UGFzc3dvcmQ6 | 192.0.2.7
        postfix/smtps/smtpd[1]: warning: unknown[192.0.2.7]:55729: SASL PLAIN authentication failed: | 192.0.2.7
        postfix/smtpd[1]: warning: x[192.0.2.7]: SASL LOGIN authentication failed: Connection lost to authentication server | \"\"
        postfix/smtpd[1]: warning: x[192.0.2.7]: SASL CRAM-MD5 authentication failed: Invalid authentication mechanism | \"\"
        postfix/smtpd[1]: warning: SASL authentication failure: Password verification failed | \"\"
        postfix/smtpd[1]: lost connection after AUTH from unknown[192.0.2.7] | \"\"
        # Dovecot.
        dovecot: imap-login: Disconnected (auth failed, 1 attempts in 2 secs): user=<ann>, method=PLAIN, rip=192.0.2.7, lip=10.0.0.1 | 192.0.2.7
        dovecot: pop3-login: Aborted login (tried to use disallowed plaintext auth): user=<>, rip=192.0.2.7, lip=10.0.0.1 | 192.0.2.7
        dovecot: imap-login: Aborted login (no auth attempts in 2 secs): user=<>, rip=192.0.2.7, lip=10.0.0.1 | \"\"
        dovecot: auth: ldap(ann,192.0.2.7): unknown user | 192.0.2.7
        dovecot: auth-worker(4711): sql(a,203.0.113.9): unknown user,192.0.2.7,<x+y/z>): Password mismatch | 192.0.2.7
        dovecot: auth: pam_unix(dovecot:auth): authentication failure; logname= uid=0 euid=0 tty=dovecot ruser=rhost=203.0.113.9 rhost=192.0.2.7 | 192.0.2.7
        # Exim.
        exim[1]: login authenticator failed for ([203.0.113.9]) [192.0.2.7]: 535 Incorrect authentication data (set_id=a [203.0.113.9]) | 192.0.2.7
        exim[1]: plain authenticator failed for mx.example.org (x) [192.0.2.7]:4567 I=[10.0.0.1]:25: 535 Incorrect authentication data | 192.0.2.7
        ",
    ) {
        assert_eq!(clients(&[message.to_owned()]), want, "{message}");
    }
}

fn connection(pid: u32, messages: &[&str]) -> Vec<String> {
    let line = |message: &&str| format!("sshd[{pid}]: {message}");
    messages.iter().map(line).collect()
}

/// Of several messages about the same attempt one counts.
#[test]
fn an_attempt_counts_once() {
    let with_password = |pid| {
        connection(
            pid,
            &[
                "Invalid user x from 192.0.2.7 port 5",
                "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=192.0.2.7",
                "Failed password for invalid user x from 192.0.2.7 port 5 ssh2",
                "Failed password for invalid user x from 192.0.2.7 port 5 ssh2",
                "Connection closed by invalid user x 192.0.2.7 port 5 [preauth]",
            ],
        )
    };
    assert_eq!(clients(&with_password(1)), "192.0.2.7 192.0.2.7");
    let with_key = |pid| {
        connection(
            pid,
            &[
                "Invalid user x from 192.0.2.8 port 5",
                "Connection closed by invalid user x 192.0.2.8 port 5 [preauth]",
            ],
        )
    };
    // A server without passwords.
    assert_eq!(
        clients(&[with_key(1), with_key(2), with_key(3)].concat()),
        "192.0.2.8 192.0.2.8 192.0.2.8"
    );
    // On one with passwords, a connection that tried none is no failed login, as before.
    assert_eq!(
        clients(&[with_password(1), with_password(2), with_key(3)].concat()),
        ["192.0.2.7"; 4].join(" ")
    );
    // On one with both, a connection with a password counts its attempts, and another one counts once.
    let both = [with_password(1), with_key(2), with_key(3)].concat();
    assert_eq!(clients(&both), "192.0.2.7 192.0.2.7 192.0.2.8 192.0.2.8");
    // A message that comes again is of another connection, which has the same number.
    assert_eq!(clients(&[with_key(1), with_key(1)].concat()), "192.0.2.8 192.0.2.8");
    let dovecot = |n| {
        format!(
            "dovecot: imap-login: Disconnected (auth failed, {n} attempts in 2 secs): user=<a>, method=PLAIN, rip=192.0.2.7"
        )
    };
    let each = "dovecot: auth: sql(a,192.0.2.7): Password mismatch".to_owned();
    assert_eq!(clients(&[each.clone(), each.clone(), dovecot(3)]), ["192.0.2.7"; 3].join(" "));
    assert_eq!(clients(&[each.clone(), each]), ["192.0.2.7"; 2].join(" "));
}

/// With LDAP, a module of PAM reports a failure of each user whom the next one lets in. Such messages are no failed logins.
#[test]
fn a_login_that_succeeds_is_no_failed_one() {
    let let_in = |pid| {
        connection(
            pid,
            &[
                "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=192.0.2.7  user=ann",
                "Accepted password for ann from 192.0.2.7 port 5 ssh2",
            ],
        )
    };
    let failed = connection(
        9,
        &[
            "pam_unix(sshd:auth): authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost=192.0.2.8  user=bob",
            "Failed password for bob from 192.0.2.8 port 5 ssh2",
        ],
    );
    assert_eq!(clients(&[let_in(1), let_in(2), failed].concat()), "192.0.2.8");
    assert_eq!(clients(&let_in(1)), "");
}

/// In a message of any program, the server's own address is not the client.
#[test]
fn messages_of_other_programs_name_the_client() {
    let filter = Filter { messages: vec![String::new()], ..Filter::default() };
    let options = Options { filter, ..options() };
    for message in [
        "DROP IN=eth0 DST=10.0.0.1 SRC=192.0.2.7 LEN=40",
        "connect from unknown[192.0.2.7] to 10.0.0.1",
        "Deny tcp src outside:192.0.2.7/1234 dst inside:10.0.0.1/22",
        "client @0x7f2b 192.0.2.7#53921 (example.org): query (cache) denied",
        "Aborted login: lip=10.0.0.1, rip=192.0.2.7",
        "SMTP connection from x [192.0.2.7]:25 I=[10.0.0.1]:587 closed",
        "listening on 10.0.0.1:80, request of 192.0.2.7",
        "192.0.2.7 was seen by 10.0.0.1",
        "local 10.0.0.1 remote 192.0.2.7: authentication failed",
    ] {
        let read =
            read(format!("Oct 10 13:55:36 web1 x: {message}\n").as_bytes(), &options, ["ip"]);
        assert_eq!(read.fields(), [["192.0.2.7"]], "{message}");
    }
}
