//! Rule files: a folder of them, and the effects of changes.

use super::folders::Folder;
use super::requests::{ask, back, descriptor, request};
use ratescope::clock::{Clock, FakeClock};
use ratescope::rules::{MemoryStore, OpenError, RulesError, Store};
use ratescope::{Span, Time};
use ratescope_service::{Changed, NoAnswer, RateLimitRequest, Service, States};
use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Barrier, Mutex, mpsc};
use std::thread;
use std::time::Duration;

fn rules(domain: &str, count: u32) -> String {
    format!(
        "domain: {domain}\ndescriptors:\n- {{key: user, rate_limit: {{unit: year, \
         requests_per_unit: {count}}}}}\n"
    )
}

fn following(named: &[PathBuf]) -> Service<FakeClock> {
    let service = Service::new(States::in_memory(100), FakeClock::default());
    service.follow(named).unwrap();
    service
}

/// How much is left for the user `ann` after a request; `None` if no limit applies.
fn left(service: &Service<FakeClock>, domain: &str) -> Option<u32> {
    let asked = request(vec![descriptor(&[("user", "ann")])]);
    let answer = ask(service, &RateLimitRequest { domain: domain.to_owned(), ..asked }).unwrap();
    answer.statuses[0].current_limit.as_ref().map(|_| answer.statuses[0].limit_remaining)
}

/// Looks twice, since changed rules are put in force only when two looks in a row find them the same.
fn look(service: &Service<FakeClock>) -> Vec<Changed> {
    [service.look(), service.look()].concat()
}

/// The error has at least a line for each file, and the cause if one file can't be read.
#[test]
fn what_is_wrong_at_the_beginning_is_told_of_all_files() {
    let folder = Folder::new("beginning");
    let (empty, missing) = (folder.0.join("empty"), folder.0.join("missing.yaml"));
    fs::create_dir(&empty).unwrap();
    let wrong = folder.write("wrong.yaml", "domain: web\n");
    let right = folder.write("right.yaml", rules("right", 10));
    fs::create_dir(folder.0.join("links")).unwrap();
    let follow = |named: &[PathBuf]| {
        Service::new(States::in_memory(100), FakeClock::default()).follow(named).unwrap_err()
    };
    let alone = follow(std::slice::from_ref(&missing));
    assert!(alone.source().unwrap().is::<std::io::Error>(), "{alone}");
    let alone = follow(std::slice::from_ref(&wrong));
    assert!(alone.source().unwrap().is::<RulesError>(), "{alone}");
    let twice = follow(&[right.clone(), folder.0.join("links").join("../right.yaml")]);
    assert!(twice.to_string().ends_with("right.yaml: it is named twice"), "{twice}");
    let all = follow(&[empty.clone(), missing.clone(), wrong.clone()]);
    assert!(matches!(&all, OpenError::Several(each) if each.len() == 3), "{all}");
    for (line, file) in all.to_string().lines().zip([empty, missing, wrong]) {
        assert!(line.starts_with(&format!("{}:", file.display())), "{line}");
    }
}

#[test]
fn a_folder_is_followed() {
    let folder = Folder::new("folder");
    let web = folder.write("web.yaml", rules("web", 10));
    folder.write("notes.txt", "not rules");
    folder.write(".hidden.yaml", "not: rules");
    let service = following(std::slice::from_ref(&folder.0));
    assert_eq!((left(&service, "web"), left(&service, "mail")), (Some(9), None));
    assert_eq!(look(&service), []);

    // Counts survive a change of the rules.
    folder.write("web.yaml", rules("web", 20));
    let changes = look(&service);
    assert!(changes.len() == 1 && changes[0].is_good(), "{changes:?}");
    assert_eq!(left(&service, "web"), Some(18));

    // If a file is broken, its old rules stay in force, and the health says so.
    folder.write("web.yaml", "domain: web\ndescriptors: 7\n");
    let changes = look(&service);
    assert!(changes.len() == 1 && !changes[0].is_good(), "{changes:?}");
    assert_eq!(left(&service, "web"), Some(17));
    let health = service.health();
    assert!(
        health.len() == 1 && health[0].path == web && health[0].problem.is_some(),
        "{health:?}"
    );
    // A file in force can't change its domain either.
    folder.write("web.yaml", rules("shop", 20));
    assert!(!look(&service)[0].is_good());
    folder.write("web.yaml", rules("web", 20));
    assert!(look(&service)[0].is_good());
    assert_eq!(service.health()[0].problem, None);

    // A new file is added, even if it was wrong at first, and a file that is deleted is removed.
    let mail = folder.write("mail.yml", "domain: mail\n");
    let changes = look(&service);
    assert!(
        matches!(changes.as_slice(), [Changed::Wrong(path, _)] if *path == mail),
        "{changes:?}"
    );
    let in_force: Vec<_> = service.health().iter().map(|file| file.is_in_force).collect();
    assert_eq!(in_force, [true, false]);
    folder.write("mail.yml", rules("mail", 5));
    assert_eq!(look(&service), [Changed::Added(mail.clone())]);
    assert_eq!(left(&service, "mail"), Some(4));
    // Two files can't have the same domain.
    folder.write("zz.yaml", rules("mail", 6));
    assert!(matches!(look(&service).as_slice(), [Changed::Wrong(..)]));
    assert_eq!(left(&service, "mail"), Some(3));
    fs::remove_file(folder.0.join("zz.yaml")).unwrap();
    look(&service);
    fs::remove_file(&mail).unwrap();
    assert_eq!(look(&service), [Changed::Removed(mail)]);
    assert_eq!((left(&service, "mail"), left(&service, "web")), (None, Some(16)));
}

/// Looks find a new file half written: neither a part of its rules is put in force, nor is it called wrong.
#[test]
fn a_new_file_is_taken_when_it_is_whole() {
    let folder = Folder::new("half");
    folder.write("web.yaml", rules("web", 10));
    let service = following(std::slice::from_ref(&folder.0));
    let whole = rules("mail", 5) + "- {key: ip, rate_limit: {unit: year, requests_per_unit: 7}}\n";
    for half in [&whole[..whole.find("- {key: ip").unwrap()], &whole[..whole.len() / 2], ""] {
        folder.write("mail.yaml", half);
        assert_eq!((service.look(), left(&service, "mail")), (vec![], None), "{half:?}");
        assert!(service.health().iter().all(|file| file.problem.is_none()), "{half:?}");
        assert_eq!(service.health().iter().filter(|file| !file.is_in_force).count(), 1, "{half:?}");
    }
    let mail = folder.write("mail.yaml", &whole);
    assert_eq!(service.look(), []);
    assert_eq!(service.look(), [Changed::Added(mail)]);
    assert_eq!(left(&service, "mail"), Some(4));
    // Nor is one worth a word that leaves before it was taken.
    let gone = folder.write("gone.yaml", "domain: gone\n");
    assert_eq!(service.look(), []);
    fs::remove_file(gone).unwrap();
    assert_eq!(look(&service), []);
    assert_eq!(service.health().len(), 2);
}

/// A rename, as one look after another finds it: the domain is never without rules, and counts go on.
#[test]
fn a_renamed_file_keeps_its_states() {
    let folder = Folder::new("renamed");
    let old = folder.write("old.yaml", rules("web", 10));
    folder.write("mail.yaml", rules("mail", 10));
    let service = following(std::slice::from_ref(&folder.0));
    assert_eq!((left(&service, "web"), left(&service, "mail")), (Some(9), Some(9)));
    let new = folder.0.join("new.yaml");
    fs::rename(&old, &new).unwrap();
    assert_eq!((service.look(), left(&service, "web")), (vec![], Some(8)));
    let changes = service.look();
    assert!(
        matches!(changes.as_slice(), [Changed::Renamed(from, to, _)] if *from == old && *to == new),
        "{changes:?}"
    );
    assert!(changes[0].to_string().ends_with("new.yaml: rules unchanged"), "{changes:?}");
    assert_eq!((look(&service), left(&service, "web")), (vec![], Some(7)));
    let files: Vec<String> = service.rules().iter().map(|rules| rules.file().to_owned()).collect();
    assert!(files[1].ends_with("new.yaml"), "{files:?}");
    // It is followed under its new name, also while it is changed and renamed at once.
    folder.write("new.yaml", rules("web", 20));
    assert!(look(&service)[0].is_good());
    assert_eq!(left(&service, "web"), Some(16));
    fs::remove_file(&new).unwrap();
    folder.write("newer.yaml", rules("web", 30));
    let changes = look(&service);
    assert!(matches!(changes.as_slice(), [Changed::Renamed(..)]), "{changes:?}");
    assert_eq!((left(&service, "web"), left(&service, "mail")), (Some(25), Some(8)));

    // While the new one is being written, the rules of the old one stay; if it has another domain, they go.
    fs::remove_file(folder.0.join("newer.yaml")).unwrap();
    for half in ["", "domain: ", "domain: web"] {
        folder.write("newest.yaml", half);
        assert_eq!((service.look(), left(&service, "web").is_some()), (vec![], true), "{half:?}");
    }
    folder.write("newest.yaml", rules("shop", 5));
    let changes = look(&service);
    assert!(matches!(changes.as_slice(), [Changed::Added(_), Changed::Removed(_)]), "{changes:?}");
    assert_eq!((left(&service, "web"), left(&service, "shop")), (None, Some(4)));
    assert_eq!(service.health().len(), 2);
}

/// A folder whose last rule file left, as a ConfigMap with a wrong key has it: its limits stay, with their states, and a
/// problem says it, until a file has rules.
#[test]
fn the_last_file_that_leaves_takes_no_limits_with_it() {
    let folder = Folder::new("last");
    let (web, mail) =
        (folder.write("web.yaml", rules("web", 10)), folder.write("mail.yaml", rules("mail", 10)));
    let service = following(std::slice::from_ref(&folder.0));
    assert_eq!((left(&service, "web"), left(&service, "mail")), (Some(9), Some(9)));
    // Both at once.
    fs::remove_file(&web).unwrap();
    fs::rename(&mail, folder.0.join("mail")).unwrap();
    let changes = look(&service);
    assert_eq!(changes, [Changed::LastLeft(mail.clone()), Changed::LastLeft(web.clone())]);
    assert!(changes.iter().all(|change| !change.is_good()));
    assert!(changes[0].to_string().contains("its rules stay in force"), "{}", changes[0]);
    assert_eq!(look(&service), [], "it is told once");
    assert_eq!((left(&service, "web"), left(&service, "mail")), (Some(8), Some(8)));
    let health = service.health();
    assert!(health.len() == 2 && health.iter().all(|file| file.is_in_force), "{health:?}");
    assert!(health.iter().all(|file| file.problem.is_some()), "{health:?}");
    // A new file is wrong: it may be one of those that left.
    let new = folder.write("new.yaml", "domain: web\nnonsense: 1\n");
    assert!(matches!(look(&service).as_slice(), [Changed::Wrong(path, _)] if *path == new));
    assert_eq!((left(&service, "web"), left(&service, "mail")), (Some(7), Some(7)));
    // It is right: its domain goes on, and the other goes.
    folder.write("new.yaml", rules("web", 20));
    let changes = look(&service);
    assert!(
        matches!(changes.as_slice(), [Changed::Renamed(..), Changed::Removed(path)] if *path == mail),
        "{changes:?}"
    );
    assert_eq!((left(&service, "web"), left(&service, "mail")), (Some(16), None));
    // The last leaves and returns.
    fs::rename(&new, folder.0.join("elsewhere")).unwrap();
    assert_eq!(look(&service), [Changed::LastLeft(new.clone())]);
    fs::rename(folder.0.join("elsewhere"), &new).unwrap();
    assert_eq!(look(&service), [Changed::Returned(new.clone())]);
    assert_eq!((service.health()[0].problem.clone(), left(&service, "web")), (None, Some(15)));
    // Without a wrong file beside it, a file that leaves another in force takes its rules with it.
    folder.write("mail.yaml", rules("mail", 5));
    assert_eq!(look(&service), [Changed::Added(mail.clone())]);
    let wrong = folder.write("wrong.yaml", "domain: wrong\n");
    look(&service);
    fs::remove_file(&mail).unwrap();
    assert_eq!(look(&service), [Changed::LastLeft(mail.clone())]);
    assert_eq!(left(&service, "mail"), Some(4));
    fs::remove_file(&wrong).unwrap();
    assert_eq!(look(&service), [Changed::Removed(mail), Changed::Removed(wrong)]);
    assert_eq!(left(&service, "mail"), None);
}

/// Who allows it starts without rules, and loses those of a file that leaves.
#[test]
fn a_folder_may_be_without_rules_if_that_is_allowed() {
    let folder = Folder::new("none");
    let service = Service::new(States::in_memory(100), FakeClock::default());
    let named = std::slice::from_ref(&folder.0);
    assert!(service.follow(named).unwrap_err().to_string().contains("no file ends with .yaml"));
    let service = Service::new(States::in_memory(100), FakeClock::default());
    service.allow_no_rules();
    service.follow(named).unwrap();
    assert_eq!(left(&service, "web"), None);
    let web = folder.write("web.yaml", rules("web", 10));
    assert_eq!(look(&service), [Changed::Added(web.clone())]);
    assert_eq!(left(&service, "web"), Some(9));
    fs::remove_file(&web).unwrap();
    assert_eq!(look(&service), [Changed::Removed(web)]);
    assert_eq!(left(&service, "web"), None);
}

/// Rules stay in force while their link leads nowhere, or when something else takes the place of their file.
#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_lifts_no_limits() {
    let folder = Folder::new("links");
    let (conf, file) = (folder.0.join("conf"), folder.write("kept/web", rules("web", 10)));
    fs::create_dir(&conf).unwrap();
    std::os::unix::fs::symlink(&file, conf.join("web.yaml")).unwrap();
    let service = following(std::slice::from_ref(&conf));
    assert_eq!(left(&service, "web"), Some(9));
    fs::rename(&file, folder.0.join("kept/elsewhere")).unwrap();
    assert!(matches!(look(&service).as_slice(), [Changed::Seen(..)]));
    assert!(service.health()[0].problem.is_some());
    assert_eq!(left(&service, "web"), Some(8));
    fs::rename(folder.0.join("kept/elsewhere"), &file).unwrap();
    look(&service);
    assert_eq!((service.health()[0].problem.clone(), left(&service, "web")), (None, Some(7)));
}

/// A file that is named itself stays, and is read again, wherever it lies: only those that were found in a folder leave
/// it.
#[test]
fn a_file_within_a_folder_can_be_named_itself() {
    for (name, also) in [
        ("conf/extra/web.yaml", &["conf", "conf/extra/web.yaml"]),
        ("conf/rules.txt", &["conf", "conf/rules.txt"]),
        ("conf/.web.yaml", &["conf/.web.yaml", "conf"]),
        ("conf/extra/web.yaml", &["conf/extra", "conf"]),
    ] {
        let folder = Folder::new("within");
        folder.write("conf/mail.yaml", rules("mail", 5));
        folder.write(name, rules("web", 10));
        let service = following(&also.map(|name| folder.0.join(name)));
        for _ in 0..3 {
            assert_eq!(service.look(), [], "{name}");
        }
        assert_eq!(left(&service, "web"), Some(9), "{name}");
        folder.write(name, rules("web", 20));
        let changes = look(&service);
        assert!(changes.len() == 1 && changes[0].is_good(), "{name}: {changes:?}");
        assert_eq!(left(&service, "web"), Some(18), "{name}");
    }
}

#[test]
fn the_folder_of_the_original() {
    let folder = Folder::new("root");
    folder.write("config/web.yaml", rules("web", 2));
    let service = following(std::slice::from_ref(&folder.0));
    assert_eq!(left(&service, "web"), Some(1));
}

#[test]
fn a_start_without_right_rules_is_refused_with_all_reasons() {
    let folder = Folder::new("wrong");
    let good = folder.write("good.yaml", rules("web", 2));
    let same = folder.write("same.yaml", rules("web", 3));
    let bad = folder.write("bad.yaml", "domain: x\nnonsense: 1\n");
    let empty = folder.0.join("empty");
    fs::create_dir(&empty).unwrap();
    let missing = folder.0.join("missing.yaml");
    let service = Service::new(States::in_memory(100), FakeClock::default());
    let error = service.follow(&[good, same, bad, empty, missing]).unwrap_err().to_string();
    for part in [
        "good.yaml already; one domain goes into one file",
        "bad.yaml:2:1: \"nonsense\"",
        "empty: no file ends with .yaml or .yml",
        "missing.yaml: ",
    ] {
        assert!(error.contains(part), "{part} in {error}");
    }
}

/// Limits of another program are refused by its name, with rules to write instead, and these are right.
#[test]
fn limits_of_limitador_are_refused_by_name() {
    let folder = Folder::new("limitador");
    let limits = "- namespace: shop\n  max_value: 10\n  seconds: 60\n  conditions:\n  - \"descriptors[0].method == \
                  'GET'\"\n  variables:\n  - descriptors[0].user\n";
    let within = limits.replace('\n', "\n    ");
    let config_map = format!("kind: ConfigMap\ndata:\n  limitador-config.yaml: |\n    {within}");
    for text in [limits, &config_map] {
        let file = folder.write("limits.yaml", text);
        let service = Service::new(States::in_memory(100), FakeClock::default());
        let error = service.follow(std::slice::from_ref(&file)).unwrap_err().to_string();
        assert!(
            error.contains(
                "limits.yaml: it has limits of Limitador, which are written as rules in this way"
            ),
            "{error}"
        );
        let (_, rules) = error.split_once("\n\n").unwrap();
        service.add("shop", rules).unwrap();
        let asked = request(vec![descriptor(&[("method", "GET"), ("user", "ann")])]);
        let asked = RateLimitRequest { domain: "shop".to_owned(), ..asked };
        let status = ask(&service, &asked).unwrap().statuses.remove(0);
        assert_eq!(status.limit_remaining, 9);
    }
    // The words alone make no rules wrong.
    let words = "# namespace: a, max_value: 1, seconds: 2\n".to_owned() + &rules("web", 2);
    let file = folder.write("words.yaml", words);
    assert_eq!(left(&following(std::slice::from_ref(&file)), "web"), Some(1));
}

/// A service whose stores are opened after `wait`.
fn opening(wait: impl Fn() + Send + Sync + 'static) -> Service<FakeClock> {
    let open = move |rules| {
        wait();
        let store: Arc<dyn Store> = Arc::new(MemoryStore::new(rules, 100));
        Ok(store)
    };
    Service::new(States::new(open), FakeClock::default())
}

#[test]
fn two_domains_are_added_at_once_and_one_is_added_once() {
    let added = |domains: [&str; 2]| {
        let (both, opened) = (Barrier::new(2), Arc::new(AtomicUsize::new(0)));
        let opens = Arc::clone(&opened);
        let service = opening(move || _ = opens.fetch_add(1, Ordering::Relaxed));
        let add = |domain: &str| {
            both.wait();
            service.add(domain, &rules(domain, 2))
        };
        let results = thread::scope(|scope| {
            let adding = domains.map(|domain| scope.spawn(move || add(domain)));
            adding.map(|adding| adding.join().unwrap())
        });
        let problems = results.into_iter().filter_map(|result| Some(result.err()?.to_string()));
        let there: Vec<_> = service.rules().iter().map(|rules| rules.domain().to_owned()).collect();
        let opened = opened.load(Ordering::Relaxed);
        (opened, there.join(" "), problems.collect::<Vec<_>>().concat())
    };
    for _ in 0..100 {
        assert_eq!(added(["mail", "web"]), (2, "mail web".to_owned(), String::new()));
        let (opened, there, problem) = added(["web", "web"]);
        // Live would show the rules of all that were opened.
        assert_eq!((opened, &*there), (1, "web"));
        assert!(problem.contains("the domain web is in web already"), "{problem}");
    }
}

/// The health does not wait for a look at the files, which may take long, as on a network that hangs.
#[test]
fn the_health_does_not_wait_for_the_files() {
    let folder = Folder::new("slow");
    let web = folder.write("web.yaml", rules("web", 2));
    let (barrier, is_slow) = (Arc::new(Barrier::new(2)), Arc::new(AtomicBool::new(false)));
    let (held, hold) = (Arc::clone(&barrier), Arc::clone(&is_slow));
    let service = Arc::new(opening(move || {
        if hold.load(Ordering::Relaxed) {
            held.wait();
            held.wait();
        }
    }));
    service.follow(std::slice::from_ref(&folder.0)).unwrap();
    is_slow.store(true, Ordering::Relaxed);
    folder.write("mail.yaml", rules("mail", 3));
    let looking = Arc::clone(&service);
    let looks = thread::spawn(move || [looking.look(), looking.look()].concat());
    barrier.wait();
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(service.health()));
    let health = told.recv_timeout(Duration::from_secs(60));
    barrier.wait();
    let health = health.unwrap();
    assert_eq!((&health[0].path, &health[0].problem), (&web, &None));
    assert!(looks.join().unwrap()[0].is_good());
}

type Happening = Box<dyn FnOnce() + Send>;

/// A clock that stands still; each time it is asked, the last of these happens.
#[derive(Default)]
struct Eventful(Mutex<Vec<Happening>>);

impl Clock for Eventful {
    fn now(&self) -> Time {
        let happening = self.0.lock().unwrap().pop();
        happening.into_iter().for_each(|happens| happens());
        Time::ZERO
    }

    async fn sleep(&self, _: Span) {}
}

/// Rules that can't give back come into force once it was found that those before them can.
#[test]
fn hits_that_are_not_given_back_are_told() {
    let folder = Folder::new("give-back");
    let path = folder.write("web.yaml", rules("web", 10));
    let service = Arc::new(Service::new(States::in_memory(100), Eventful::default()));
    service.follow(std::slice::from_ref(&path)).unwrap();
    let happening: Happening = Box::new({
        let service = Arc::clone(&service);
        move || {
            let rules = "domain: web\ndescriptors:\n- {key: user, limit: exim 9/1h strict}\n";
            fs::write(path, rules).unwrap();
            assert_eq!([service.look(), service.look()].concat().len(), 1);
        }
    });
    *service.clock().0.lock().unwrap() = vec![happening];
    let answer = ask(&service, &request(vec![back(&[("user", "ann")], 1, "0")]));
    assert!(matches!(answer, Err(NoAnswer::Unsupported(_))), "{answer:?}");
    assert!(service.clock().0.lock().unwrap().is_empty());
}
