//! Rules that follow their file, looked at without waiting.

use crate::shell::Folder;
use ratescope::rules::{MemoryStore, OpenError, Reloaded};
use ratescope::{Event, Time};
use ratescope_tower::watch::{FileNews, Watch, open};
use std::fs;
use std::io;
use std::path::Path;
use std::sync::mpsc;
use std::time::{Duration, Instant};

fn rules(limit: &str) -> String {
    format!("domain: web\ndescriptors:\n  - {{key: user, limit: '{limit}'}}\n")
}

fn opened(path: &Path) -> (MemoryStore, Watch) {
    open(path, 100).unwrap_or_else(|error| panic!("{error}"))
}

/// Looks twice: the first look only sees a change, and the second returns its result.
#[track_caller]
fn settled(watch: &mut Watch) -> FileNews {
    assert_eq!(watch.look(Time::ZERO), None, "seen once");
    let seen = watch.look(Time::ZERO).expect("seen twice");
    assert_eq!(watch.look(Time::ZERO), None, "told once");
    seen
}

#[track_caller]
fn assert_limit(ruled: &MemoryStore, limit: usize) {
    let fields = [("user", "ann")];
    let event = Event { time: Time::ZERO, cost: 0.0, fields: &fields };
    let decision = ruled.peek(&event);
    assert_eq!(decision.decided_by().unwrap().outcome.limit, limit as f64);
}

#[test]
fn a_file_that_is_written_anew() {
    let folder = Folder::new("written");
    let path = folder.write("rules.yaml", rules("2/1h"));
    let (ruled, mut watch) = opened(&path);
    assert_eq!(watch.look(Time::ZERO), None);
    fs::write(&path, rules("3/1h")).unwrap();
    assert_eq!(settled(&mut watch).name(), "applied");
    assert_limit(&ruled, 3);
    // Of the same length and perhaps within one tick of the file system's clock.
    fs::write(&path, rules("4/1h")).unwrap();
    let applied = settled(&mut watch).to_string();
    let said =
        format!("rules of {} applied: 0 go on, 1 go on with other numbers (", path.display());
    assert!(applied.starts_with(&said), "{applied}");
    assert_limit(&ruled, 4);
    fs::write(&path, format!("# told\n{}", rules("4/1h"))).unwrap();
    let file = path.display().to_string();
    assert_eq!(settled(&mut watch), FileNews::Read { file, reloaded: Reloaded::Unchanged });
}

/// As editors and deployments do it.
#[test]
fn a_file_that_is_replaced_by_a_rename() {
    let folder = Folder::new("renamed");
    let path = folder.write("rules.yaml", rules("2/1h"));
    let (ruled, mut watch) = opened(&path);
    for limit in 3..6 {
        fs::write(folder.path("new"), rules(&format!("{limit}/1h"))).unwrap();
        fs::rename(folder.path("new"), &path).unwrap();
        assert_eq!(settled(&mut watch).name(), "applied");
        assert_limit(&ruled, limit);
    }
}

/// As Kubernetes exchanges a ConfigMap: the file is a link into a folder that is a link itself.
#[cfg(unix)]
#[test]
fn a_file_behind_two_symlinks() {
    use std::os::unix::fs::symlink;
    let folder = Folder::new("linked");
    for (version, limit) in [("one", "2/1h"), ("two", "3/1h")] {
        folder.write(&format!("{version}/rules.yaml"), rules(limit));
    }
    symlink("one", folder.path("data")).unwrap();
    symlink("data/rules.yaml", folder.path("rules.yaml")).unwrap();
    let (ruled, mut watch) = opened(&folder.path("rules.yaml"));
    assert_limit(&ruled, 2);
    symlink("two", folder.path("data.new")).unwrap();
    fs::rename(folder.path("data.new"), folder.path("data")).unwrap();
    assert_eq!(settled(&mut watch).name(), "applied");
    assert_limit(&ruled, 3);
}

/// A file is not read by halves: while it changes from look to look, nothing is done.
#[test]
fn a_file_that_is_being_written() {
    let folder = Folder::new("halves");
    let path = folder.write("rules.yaml", rules("2/1h"));
    let (ruled, mut watch) = opened(&path);
    // Each of these is a file of rules by itself.
    let text = format!("{}  - {{key: ip, limit: 5/1h}}\n", rules("3/1h"));
    for end in [rules("3/1h").len(), text.len()] {
        fs::write(&path, &text[..end]).unwrap();
        assert_eq!(watch.look(Time::ZERO), None);
    }
    assert_limit(&ruled, 2);
    assert_eq!(watch.look(Time::ZERO).map(|seen| seen.name()), Some("applied"));
    assert_eq!(ruled.rules().rules().len(), 2);
}

/// A file that can't be used is reported once, and the old rules stay.
#[test]
fn a_file_that_is_wrong_or_gone() {
    let folder = Folder::new("gone");
    let path = folder.write("rules.yaml", rules("2/1h"));
    let (ruled, mut watch) = opened(&path);
    fs::write(&path, rules("2/1y")).unwrap();
    let seen = settled(&mut watch);
    assert_eq!(seen.name(), "rejected");
    let place = format!("{}:3:", path.display());
    assert!(seen.to_string().contains(&place), "{seen}");
    fs::remove_file(&path).unwrap();
    let seen = settled(&mut watch);
    assert_eq!(seen.name(), "unreadable");
    assert!(seen.to_string().starts_with("rules unreadable, and the old ones stay: "), "{seen}");
    fs::write(&path, [0xff, 0xfe]).unwrap();
    assert_eq!(settled(&mut watch).name(), "unreadable");
    fs::write(&path, "x".repeat(2 << 20)).unwrap();
    assert_eq!(settled(&mut watch).name(), "rejected");
    assert_limit(&ruled, 2);
    fs::write(&path, rules("7/1h")).unwrap();
    assert_eq!(settled(&mut watch).name(), "applied");
    assert_limit(&ruled, 7);
}

#[test]
fn there_must_be_rules_to_begin_with() {
    let folder = Folder::new("begin");
    let path = folder.path("rules.yaml");
    let missing = open(&path, 100).map(drop).unwrap_err();
    assert!(matches!(missing, OpenError::Unreadable { .. }));
    let cause = std::error::Error::source(&missing).unwrap().downcast_ref::<io::Error>().unwrap();
    assert_eq!(cause.kind(), io::ErrorKind::NotFound);
    assert_eq!(missing.to_string(), format!("{}: {cause}", path.display()));
    fs::write(&path, "domain: web\n").unwrap();
    let Err(OpenError::Rules(error)) = open(&path, 100) else { panic!() };
    assert_eq!(error.file(), path.display().to_string());
    // A `main` that returns the error prints its `Debug` form.
    let open = OpenError::from(error.clone());
    assert_eq!(format!("{open:?}"), error.to_string());
    assert_eq!(std::error::Error::source(&open).unwrap().to_string(), error.to_string());
}

/// A pipe would keep the reader waiting until somebody writes.
#[cfg(unix)]
#[test]
fn only_a_regular_file_is_read() {
    let folder = Folder::new("pipe");
    let path = folder.write("rules.yaml", rules("2/1h"));
    let (ruled, mut watch) = opened(&path);
    fs::remove_file(&path).unwrap();
    assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
    assert!(settled(&mut watch).to_string().ends_with(": it is not a regular file"));
    assert_limit(&ruled, 2);
    assert!(open(&path, 100).unwrap_err().to_string().ends_with(": it is not a regular file"));
    fs::remove_file(&path).unwrap();
    fs::write(&path, rules("3/1h")).unwrap();
    assert_eq!(settled(&mut watch).name(), "applied");
}

/// The thread: it looks, it reports, and it ends with its owner.
#[test]
fn a_thread_that_looks() {
    let folder = Folder::new("thread");
    let path = folder.write("rules.yaml", rules("2/1h"));
    let (ruled, watch) = opened(&path);
    let (send, seen) = mpsc::channel();
    let report = move |what: FileNews| send.send(what).unwrap();
    let watching = watch.every(Duration::from_millis(1), || Time::ZERO, report).unwrap();
    fs::write(folder.path("new"), rules("3/1h")).unwrap();
    fs::rename(folder.path("new"), &path).unwrap();
    assert_eq!(seen.recv_timeout(Duration::from_secs(60)).unwrap().name(), "applied");
    assert_limit(&ruled, 3);
    drop(watching);
    // The channel closes when the thread lets go of it.
    assert_eq!(
        seen.recv_timeout(Duration::from_secs(60)),
        Err(mpsc::RecvTimeoutError::Disconnected)
    );
}

/// Also an interval of nothing has a pause of a millisecond, after which the clock is asked.
#[test]
fn a_thread_that_always_looks_leaves_the_processor_to_others() {
    let folder = Folder::new("always");
    let path = folder.write("rules.yaml", rules("2/1h"));
    let (_, watch) = opened(&path);
    let (send, looks) = mpsc::channel();
    let clock = move || {
        // Nobody listens once the test has seen enough.
        _ = send.send(());
        Time::ZERO
    };
    let begun = Instant::now();
    let watching = watch.every(Duration::ZERO, clock, |_| ()).unwrap();
    for _ in 0..50 {
        looks.recv_timeout(Duration::from_secs(60)).unwrap();
    }
    assert!(begun.elapsed() >= Duration::from_millis(50));
    drop(watching);
}
