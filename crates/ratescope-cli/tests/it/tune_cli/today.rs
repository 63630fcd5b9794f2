//! `ratescope tune --config`: the limits in force, and what the recommended one would do instead.

use super::{assert_wrong, file, log, run, text, tune};

const NGINX: &str = "http {
    limit_req_zone $binary_remote_addr zone=all:10m rate=20r/m;
    limit_req_zone $binary_remote_addr zone=login:10m rate=1r/m;
    limit_req_zone $geo zone=geo:10m rate=1r/m;
    server {
        limit_req zone=all burst=5 nodelay;
        location /login { limit_req zone=login; }
        limit_req zone=geo;
    }
}
";

#[test]
fn the_limits_in_force_are_tried_beside_the_recommended_one() {
    let config = file("today-nginx.conf", NGINX);
    let alone = ["nginx 20/1m burst 5 nodelay per ip", "nginx 1/1m per ip"]
        .map(|limit| tune(&["--limit", limit, "--for", "nginx"], log().as_bytes()));
    let args = ["--config", &config, "--limit", "9/1m per ip"];
    let answer = tune(&args, log().as_bytes());
    let today = &answer["today"];
    assert_eq!(today["server"], "nginx");
    for (n, alone) in alone.iter().enumerate() {
        let (limit, tried) = (&today["limits"][n], &alone["limits"][0]);
        for field in ["limit", "clients_touched", "requests_refused"] {
            assert_eq!(limit[field], tried[field]);
        }
        assert_eq!(answer["limits"][n], *tried);
        assert_eq!(today["recommended"]["limit"], alone["for"][0]["recommended"]["limit"]);
    }
    assert_eq!(answer["limits"][2]["limit"], "9/1m per ip");
    assert_eq!(today["limits"][1]["scope"], "location /login");
    assert_eq!(today["limits"].as_array().unwrap().len(), 2);
    assert_eq!(answer["for"][0]["server"], "nginx");

    let output = run(&[&["tune"], &args[..]].concat(), log().as_bytes());
    let (report, notes) = (text(&output.stdout), text(&output.stderr));
    let refused = today["limits"][0]["requests_refused"].as_u64().unwrap();
    let first = format!(
        "Today, nginx 20/1m burst 5 nodelay per ip (all, {config}, line 6) refuses {refused} of 3,000 requests ("
    );
    assert!(report.contains(&first), "{report}");
    assert!(
        report
            .contains(" It is for location /login, and was tried on all requests that were read.")
    );
    let limit = today["recommended"]["limit"].as_str().unwrap();
    assert!(report.contains(&format!("The recommended {limit} per ip would refuse ")), "{report}");
    assert!(report.contains(&format!("\nrecommended: {limit} per ip ")), "{report}");
    let note = "line 4: it counts by $geo, which is no field of a log";
    assert!(notes.contains(&format!("note: {config}: {note}")), "{notes}");
    assert_eq!(today["notes"][0], note);
}

#[test]
fn one_limit_is_asked_for_by_its_name() {
    let config = file("today-zone.conf", NGINX);
    let answer = tune(&["--config", &config, "--zone", "login"], log().as_bytes());
    assert_eq!(answer["today"]["limits"].as_array().unwrap().len(), 1);
    assert_eq!(answer["today"]["limits"][0]["name"], "login");
    let unknown = format!("--zone: {config} has no limit \"logn\"; it has all, login");
    assert_wrong(&["--config", &config, "--zone", "logn"], log().as_bytes(), &unknown);
}

#[test]
fn a_configuration_that_is_not_understood_is_said() {
    let config = file(
        "today-broken.conf",
        "http {\n  limit_req_zone $geo zone=a;\n  limit_req zone=a;\n}\n",
    );
    let says = format!("{config}: line 2: it counts by $geo, which is no field of a log");
    assert_wrong(&["--config", &config], log().as_bytes(), &says);
    let config = file("today-none.conf", "server { listen 80; }\n");
    let says = format!("{config}: no limit of a server that is known; these are Exim, nginx");
    assert_wrong(&["--config", &config], log().as_bytes(), &says);
    // The log has no field of this name.
    let config = file(
        "today-host.conf",
        "limit_req_zone $http_x_a zone=a:1m rate=1r/s;\nlimit_req zone=a;\n",
    );
    assert_wrong(&["--config", &config], log().as_bytes(), "x-a is not a field here");
}
