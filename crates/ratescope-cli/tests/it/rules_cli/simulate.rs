//! `ratescope simulate --rules`.

use super::*;

#[test]
fn simulate_takes_rules_beside_limiters() {
    let args = ["simulate", "--format", "jsonl", "--rules", "good/shadow.yaml", "1/1m per user"];
    let lines: Vec<Value> =
        printed(&args, EVENTS).lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 8);
    assert_eq!(lines[0]["limiter"], json!("1/1m per user"));
    assert_eq!(
        lines[3],
        json!({
            "time": 0, "key": "", "cost": 1, "limiter": "good/shadow.yaml",
            "allowed": true, "wait": 0, "retry_after": null, "level": 2, "limit": 6,
            "decided_by": "mail:ip: fixed-window 6/1m per ip", "decided_key": "ip=a",
            "remark": "mail:path would refuse",
        })
    );
    assert_eq!(
        lines[7],
        json!({
            "time": 1, "key": "", "cost": 1, "limiter": "good/shadow.yaml",
            "allowed": true, "wait": 0, "retry_after": null, "level": null, "limit": null,
            "decided_by": "", "decided_key": "", "remark": "",
        })
    );
}

#[test]
fn simulate_prints_rules_in_every_format() {
    let events = "time,hard,soft,elastic,load\n0,x,,,\n0,,,x,30%\n";
    let csv = printed(&["simulate", "--rules", "good/throttle.yaml", "--format", "csv"], events);
    assert_eq!(
        csv,
        "\
time,key,cost,limiter,allowed,wait,retry_after,level,limit,decided_by,decided_key,remark
0,,1,good/throttle.yaml,true,0,,1,100,api:hard: fixed-window 100/1s per hard,hard=x,
0,,1,good/throttle.yaml,true,0,,1,200,api:elastic: fixed-window 200/1s per elastic,elastic=x,
"
    );
    let events = format!("time,soft\n{}", "0,x\n".repeat(111));
    let output = ratescope(&["simulate", "--rules", "good/throttle.yaml"], &events);
    let table = text(&output.stdout);
    let lines: Vec<&str> = table.lines().collect();
    assert!(lines[100].ends_with(" 100       110  allowed"), "{}", lines[100]);
    assert!(lines[101].ends_with(" 101       110  allowed (softly)"), "{}", lines[101]);
    let refused =
        "111       110  refused, again in 1s (api:soft: fixed-window 110/1s per soft: soft=x)";
    assert!(lines[111].ends_with(refused), "{}", lines[111]);
    assert_eq!(
        text(&output.stderr),
        "note: good/throttle.yaml has rules for fields that are no columns here: hard, elastic, bucket\n\
         good/throttle.yaml: 110 of 111 allowed (99.1%), 1 refused, 10 softly, keys: 2\n"
    );
}

#[test]
fn simulate_refuses_wrong_rules_and_loads() {
    let said = said(&["simulate", "--rules", "bad/capital_value.yaml"]);
    assert!(said.starts_with("error: a mistake in bad/capital_value.yaml\n"), "{said}");
    let output =
        ratescope(&["simulate", "--rules", "good/throttle.yaml"], "time,load\n1,50%\n2,half\n");
    assert_eq!(output.status.code(), Some(1));
    let error = "error: at 2: \"half\": not a load; write it as in 42%\n";
    assert!(text(&output.stderr).ends_with(error), "{}", text(&output.stderr));
    let output = ratescope(&["simulate"], "time\n1\n");
    assert!(!output.status.success());
}
