//! Servers that are installed, and whole configurations around the limits written for them.

#![allow(dead_code)] // Each test file uses its part.

use std::env;
use std::fs::OpenOptions;
use std::io::Write;
use std::path::{Path, PathBuf};

/// The program, by a variable of the environment or on the usual paths. Where there is none, the test
/// [says so](skip) and is passed over.
pub(crate) fn program(variable: &str, name: &str) -> Option<PathBuf> {
    let path = env::var_os("PATH").unwrap_or_default();
    let folders = env::split_paths(&path).chain(["/usr/sbin".into(), "/usr/local/sbin".into()]);
    let found = folders.map(|folder| folder.join(name)).find(|file| file.is_file());
    let found = env::var_os(variable).map(PathBuf::from).or(found);
    if found.is_none() {
        skip(name);
    }
    found
}

/// Says that a test is passed over for lack of something. `./scripts/test native` names all of it at its end, and fails
/// in CI for things that `tests/skipped.txt` does not list.
pub(crate) fn skip(missing: &str) {
    eprintln!("skipped, for lack of {missing}");
    if let Some(path) = env::var_os("RATESCOPE_SKIPPED") {
        let mut file = OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(format!("{missing}\n").as_bytes()).unwrap();
    }
}

/// For nginx: a server on a port that answers everything.
pub(crate) fn nginx(text: &str, folder: &Path, port: u16) -> String {
    let (http, server) = text.split_once("\n# In a server").unwrap();
    let server = server.split_once('\n').unwrap().1;
    let folder = folder.display();
    format!(
        "daemon off;\nmaster_process off;\npid {folder}/pid;\nerror_log stderr;\nevents {{}}\n\
         http {{\naccess_log off;\nclient_body_temp_path {folder};\nproxy_temp_path {folder};\n\
         fastcgi_temp_path {folder};\nuwsgi_temp_path {folder};\nscgi_temp_path {folder};\n\
         {http}\nserver {{\nlisten 127.0.0.1:{port};\nroot {folder};\n{server}\n}}\n}}\n"
    )
}

/// For HAProxy: a frontend on a port that answers everything.
pub(crate) fn haproxy(text: &str, port: u16) -> String {
    let (tables, rules) = text.split_once("# In the frontend:\n").unwrap();
    format!(
        "defaults\n  mode http\n  timeout client 1m\n  timeout connect 1m\n  timeout server 1m\n\n\
         {tables}\nfrontend f\n  bind 127.0.0.1:{port}\n{rules}  http-request return status 200\n"
    )
}

/// For Envoy: a listener on a port that answers everything.
pub(crate) fn envoy(text: &str, port: u16) -> String {
    let indented =
        |text: &str| -> String { text.lines().map(|line| format!("          {line}\n")).collect() };
    let (manager, filters) = text.split_at(text.find("# In http_filters").unwrap());
    let (manager, filters) = (indented(manager), indented(filters));
    format!(
        "static_resources:\n  listeners:\n  - name: l\n    address: {{ socket_address: {{ \
         address: 127.0.0.1, port_value: {port} }} }}\n    filter_chains:\n    - filters:\n      \
         - name: envoy.filters.network.http_connection_manager\n        typed_config:\n          \
         \"@type\": type.googleapis.com/envoy.extensions.filters.network.\
         http_connection_manager.v3.HttpConnectionManager\n          stat_prefix: h\n\
         {manager}          http_filters:\n{filters}          - name: envoy.filters.http.router\n            \
         typed_config: {{ \"@type\": type.googleapis.com/envoy.extensions.filters.http.\
         router.v3.Router }}\n          route_config:\n            virtual_hosts:\n            \
         - {{ name: v, domains: [\"*\"], routes: [ {{ match: {{ prefix: \"/\" }}, \
         direct_response: {{ status: 200 }} }} ] }}\n"
    )
}
