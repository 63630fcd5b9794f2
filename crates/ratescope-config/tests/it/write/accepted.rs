//! The texts, put where their comments say, and read by the servers' own checkers. Where one is
//! not installed, its test says so and is passed over.

use crate::files::{Folder, file};
use crate::servers::{self, program};
use crate::table::rows;
use crate::write::keys::{ADDRESSES, keys, server};
use crate::write::{WRITTEN, configure};
use ratescope::Policy;
use ratescope_config::Target;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The texts for `target`, each with a name: the committed ones, and one for each key that it has and
/// each way to count addresses.
fn texts(target: Target) -> Vec<(String, String)> {
    let committed = rows(WRITTEN).filter(|[_, of, _]| *of == target.to_string());
    let mut texts: Vec<(String, String)> = committed
        .map(|[name, _, policy]| (name.to_owned(), configure(target, policy).text))
        .collect();
    let (limiter, _) = server(target);
    for (n, addresses) in ADDRESSES.into_iter().enumerate() {
        for key in keys() {
            let policy: Policy = format!("{limiter} per {key}").parse().unwrap();
            let Ok(written) = target.configure_for(&policy, addresses, None) else { continue };
            if !texts.iter().any(|(_, text)| *text == written.text) {
                // Envoy knows its configuration by this end of a name.
                texts.push((format!("{target}-{n}-{key}.yaml"), written.text));
            }
        }
    }
    texts
}

/// A text that refuses nothing, by the words that the notes on it say.
fn tried(text: &str, (refusing, trying): (&str, &str)) -> String {
    assert!(text.contains(refusing), "{text}");
    text.replace(refusing, trying)
}

/// Fails unless the checker is content with every text of `target`, wrapped by `wrap`.
fn check(
    target: Target,
    program: &Path,
    wrap: impl Fn(&str, &Path) -> String,
    arguments: impl Fn(&Path) -> Vec<String>,
) {
    check_texts(texts(target), program, wrap, arguments);
}

fn check_texts(
    texts: Vec<(String, String)>,
    program: &Path,
    wrap: impl Fn(&str, &Path) -> String,
    arguments: impl Fn(&Path) -> Vec<String>,
) {
    for (name, text) in texts {
        let folder = Folder::new("export");
        let file = folder.write(&name, wrap(&text, &folder.0));
        let output = Command::new(program).args(arguments(&file)).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned()
            + &String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {said}");
        assert!(!said.to_lowercase().contains("warn"), "{name}: {said}");
    }
}

#[test]
fn nginx_accepts_it() {
    let Some(nginx) = program("NGINX", "nginx") else { return };
    let arguments = |file: &Path| {
        ["-t", "-e", "stderr", "-c", &file.to_string_lossy()].map(str::to_owned).to_vec()
    };
    check(Target::Nginx, &nginx, |text, folder| servers::nginx(text, folder, 1), arguments);
    let dry = |text: &str, folder: &Path| {
        servers::nginx(&format!("{text}limit_req_dry_run on;\n"), folder, 1)
    };
    check(Target::Nginx, &nginx, dry, arguments);
}

#[test]
fn haproxy_accepts_it() {
    let Some(haproxy) = program("HAPROXY", "haproxy") else { return };
    let arguments = |file: &Path| ["-c", "-f", &file.to_string_lossy()].map(str::to_owned).to_vec();
    check(Target::Haproxy, &haproxy, |text, _| servers::haproxy(text, 1), arguments);
    let dry = ("deny deny_status 429", "set-header x-over-limit 1");
    check(Target::Haproxy, &haproxy, |text, _| servers::haproxy(&tried(text, dry), 1), arguments);
}

#[test]
fn envoy_accepts_it() {
    let Some(envoy) = program("ENVOY", "envoy") else { return };
    let arguments = |file: &Path| {
        ["--mode", "validate", "-l", "error", "-c", &file.to_string_lossy()]
            .map(str::to_owned)
            .to_vec()
    };
    // It starts slowly, so it reads all filters for one way to find the client as a chain.
    let (real, own): (Vec<_>, Vec<_>) =
        texts(Target::Envoy).into_iter().partition(|(_, text)| text.contains("use_remote_address"));
    let chain = |texts: Vec<(String, String)>| {
        let filter = |text: &str| text[text.find("# In http_filters").unwrap()..].to_owned();
        let first = texts[0].1.clone();
        let manager = &first[..first.find("# In http_filters").unwrap()];
        let filters: String = texts.iter().map(|(_, text)| filter(text)).collect();
        (texts[0].0.clone(), manager.to_owned() + &filters)
    };
    check_texts(
        vec![chain(real), chain(own)],
        &envoy,
        |text, _| servers::envoy(text, 1),
        arguments,
    );
}

/// Exim reads the arguments of a condition only when it comes to it; what it reads here is the rest.
#[test]
fn exim_accepts_it() {
    let Some(exim) = program("EXIM", "exim4") else { return };
    let wrap = |text: &str| {
        format!("keep_environment =\nacl_smtp_mail = limits\nbegin acl\nlimits:\n{text}accept\n")
    };
    let arguments =
        |file: &Path| ["-C", &file.to_string_lossy(), "-bV"].map(str::to_owned).to_vec();
    check(Target::Exim, &exim, |text, _| wrap(text), arguments);
    let dry = |text: &str| tried(&tried(text, ("deny", "warn")), ("message ", "log_message "));
    check(Target::Exim, &exim, |text, _| wrap(&dry(text)), arguments);
}

/// The limits are a plugin's, which few programs have in them. Where it is missing, the form alone is looked
/// at.
#[test]
fn caddy_accepts_it() {
    let Some(caddy) = program("CADDY", "caddy") else { return };
    let run = |arguments: &[&str]| Command::new(&caddy).args(arguments).output().unwrap();
    for (name, text) in texts(Target::Caddy) {
        let file = file(&name, &text);
        let formed = run(&["fmt", &file]).stdout;
        assert_eq!(String::from_utf8_lossy(&formed), text, "{name}");
    }
    let modules = run(&["list-modules"]).stdout;
    if !String::from_utf8_lossy(&modules).contains("http.handlers.rate_limit") {
        servers::skip("the plugin caddy-ratelimit in caddy");
        return;
    }
    let wrap = |text: &str, _: &Path| {
        let (options, site) = text.split_once("# In a site").unwrap();
        format!(
            "{{\norder rate_limit before basic_auth\n{options}}}\nhttp://127.0.0.1:1 {{\n# In a site{site}}}\n"
        )
    };
    let arguments = |file: &Path| {
        ["validate", "--adapter", "caddyfile", "--config", &file.to_string_lossy()]
            .map(str::to_owned)
            .to_vec()
    };
    check(Target::Caddy, &caddy, wrap, arguments);
}

/// Beside all that the package brings: its filters and actions.
#[test]
fn fail2ban_accepts_it() {
    let Some(client) = program("FAIL2BAN_CLIENT", "fail2ban-client") else { return };
    let brought = Path::new("/etc/fail2ban");
    if !brought.join("jail.conf").exists() {
        servers::skip("the jail.conf of fail2ban");
        return;
    }
    let wrap = |text: &str, folder: &Path| {
        fs::write(folder.join("auth.log"), "").unwrap();
        // Settings that Debian's own configuration lacks, which fail2ban warns of.
        fs::write(folder.join("fail2ban.local"), "[Definition]\nallowipv6 = auto\n").unwrap();
        format!("{text}backend = auto\nlogpath = {}\n", folder.join("auth.log").display())
    };
    let arguments = |file: &Path| {
        let folder = file.parent().unwrap();
        fs::rename(file, folder.join("jail.local")).unwrap();
        for name in [
            "fail2ban.conf",
            "jail.conf",
            "paths-debian.conf",
            "paths-common.conf",
            "filter.d",
            "action.d",
        ] {
            let _ = std::os::unix::fs::symlink(brought.join(name), folder.join(name));
        }
        ["-c", &folder.to_string_lossy(), "--test"].map(str::to_owned).to_vec()
    };
    check(Target::Fail2ban, &client, wrap, arguments);
    let trying = ("[sshd]\n", "[sshd]\nbanaction = dummy\n");
    check(Target::Fail2ban, &client, |text, folder| wrap(&tried(text, trying), folder), arguments);
}

/// It needs the right to ask the kernel, which a test may not have.
#[test]
fn nftables_accepts_it() {
    let Some(nft) = program("NFT", "nft") else { return };
    let empty = PathBuf::from(file("empty.conf", "table inet ratescope {\n}\n"));
    let arguments =
        |file: &Path| ["--check", "-f", &file.to_string_lossy()].map(str::to_owned).to_vec();
    if !Command::new(&nft).args(arguments(&empty)).output().unwrap().status.success() {
        servers::skip("the right of nft to ask the kernel");
        return;
    }
    check(Target::Nftables, &nft, |text, _| text.to_owned(), arguments);
    check(Target::Nftables, &nft, |text, _| tried(text, (" drop\n", " counter\n")), arguments);
}
