//! The texts, put where their comments say, and read by the servers' own checkers. Where one is
//! not installed, its test says so and is passed over.

use crate::keys::{ADDRESSES, KEYS, SERVERS};
use crate::{WRITTEN, configure};
use ratescope::Policy;
use ratescope::policy::export::Target;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

/// The program, by a variable of the environment or on the usual paths.
fn program(variable: &str, name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    let found = env::var_os(variable).map(PathBuf::from).or(found);
    if found.is_none() {
        eprintln!("skipped: there is no {name}, which would check its configuration");
    }
    found
}

/// An empty folder for one check.
fn folder(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("export").join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

/// The texts for `target`, each with a name: the committed ones, and one for each key that it has and
/// each way to count addresses.
fn texts(target: Target) -> Vec<(String, String)> {
    let committed = WRITTEN.iter().filter(|(_, of, _)| *of == target);
    let mut texts: Vec<(String, String)> = committed
        .map(|(name, _, policy)| ((*name).to_owned(), configure(target, policy).text))
        .collect();
    let (_, limiter, _) = SERVERS.iter().find(|(of, ..)| *of == target).unwrap();
    for (n, addresses) in ADDRESSES.into_iter().enumerate() {
        for key in KEYS.split(' ') {
            let policy: Policy = format!("{limiter} per {key}").parse().unwrap();
            let Ok(written) = target.configure_for(&policy, addresses) else { continue };
            if !texts.iter().any(|(_, text)| *text == written.text) {
                // Envoy knows its configuration by this end of a name.
                texts.push((format!("{target}-{n}-{key}.yaml"), written.text));
            }
        }
    }
    texts
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
        let folder = folder(&name);
        let file = folder.join(&name);
        fs::write(&file, wrap(&text, &folder)).unwrap();
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
    let wrap = |text: &str, folder: &Path| {
        let (http, server) = text.split_once("\n# In a server").unwrap();
        let server = server.split_once('\n').unwrap().1;
        let folder = folder.display();
        format!(
            "pid {folder}/pid;\nerror_log stderr;\nevents {{}}\nhttp {{\naccess_log off;\n\
             client_body_temp_path {folder};\nproxy_temp_path {folder};\n\
             fastcgi_temp_path {folder};\nuwsgi_temp_path {folder};\nscgi_temp_path {folder};\n\
             {http}\nserver {{\nlisten 127.0.0.1:1;\n{server}\n}}\n}}\n"
        )
    };
    let arguments = |file: &Path| {
        ["-t", "-e", "stderr", "-c", &file.to_string_lossy()].map(str::to_owned).to_vec()
    };
    check(Target::Nginx, &nginx, wrap, arguments);
}

#[test]
fn haproxy_accepts_it() {
    let Some(haproxy) = program("HAPROXY", "haproxy") else { return };
    let wrap = |text: &str, _: &Path| {
        let (tables, rules) = text.split_once("# In the frontend:\n").unwrap();
        format!(
            "defaults\n  mode http\n  timeout client 1s\n  timeout connect 1s\n  \
             timeout server 1s\n\n{tables}\nfrontend f\n  bind 127.0.0.1:1\n{rules}  \
             http-request return status 200\n"
        )
    };
    let arguments = |file: &Path| ["-c", "-f", &file.to_string_lossy()].map(str::to_owned).to_vec();
    check(Target::Haproxy, &haproxy, wrap, arguments);
}

#[test]
fn envoy_accepts_it() {
    let Some(envoy) = program("ENVOY", "envoy") else { return };
    let wrap = |text: &str, _: &Path| {
        let indented = |text: &str| -> String {
            text.lines().map(|line| format!("          {line}\n")).collect()
        };
        let starts: Vec<usize> =
            text.match_indices("# In http_filters").map(|(at, _)| at).collect();
        let (manager, filters) = text.split_at(starts[0]);
        let (manager, filter) = (indented(manager), indented(filters));
        format!(
            "static_resources:\n  listeners:\n  - name: l\n    address: {{ socket_address: {{ \
             address: 127.0.0.1, port_value: 1 }} }}\n    filter_chains:\n    - filters:\n      \
             - name: envoy.filters.network.http_connection_manager\n        typed_config:\n          \
             \"@type\": type.googleapis.com/envoy.extensions.filters.network.\
             http_connection_manager.v3.HttpConnectionManager\n          stat_prefix: h\n\
             {manager}          http_filters:\n{filter}          - name: envoy.filters.http.router\n            \
             typed_config: {{ \"@type\": type.googleapis.com/envoy.extensions.filters.http.\
             router.v3.Router }}\n          route_config:\n            virtual_hosts:\n            \
             - {{ name: v, domains: [\"*\"], routes: [ {{ match: {{ prefix: \"/\" }}, \
             direct_response: {{ status: 200 }} }} ] }}\n"
        )
    };
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
    check_texts(vec![chain(real), chain(own)], &envoy, wrap, arguments);
}

/// Exim reads the arguments of a condition only when it comes to it; what it reads here is the rest.
#[test]
fn exim_accepts_it() {
    let Some(exim) = program("EXIM", "exim4").or_else(|| program("EXIM", "exim")) else { return };
    let wrap = |text: &str, _: &Path| {
        format!("keep_environment =\nacl_smtp_mail = limits\nbegin acl\nlimits:\n{text}accept\n")
    };
    let arguments =
        |file: &Path| ["-C", &file.to_string_lossy(), "-bV"].map(str::to_owned).to_vec();
    check(Target::Exim, &exim, wrap, arguments);
}
