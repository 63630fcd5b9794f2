//! Rules that are replaced while others are put in force.

use super::server::Server;
use super::{check, open, patient, rules};
use ratescope::Time;
use ratescope::rules::{Details, Store};
use std::sync::Arc;
use std::thread;

/// Redis decides by the rules that the store says are in force, whichever of two came last.
#[tokio::test]
async fn two_replacements_at_once_leave_one_in_force() {
    let Some(server) = Server::start(&[]) else { return };
    let text = |rules: usize| {
        let rule = |i| format!("- {{key: user, value: u{i}, limit: gcra 9/1h}}\n");
        format!("domain: d\ndescriptors:\n{}", (0..rules).map(rule).collect::<String>())
    };
    let (long, short) = (rules(&text(2000)), rules(&text(1)));
    let store = open(&server.url(), rules(&text(2)), patient("replaced:"));
    thread::scope(|scope| {
        scope.spawn(|| assert_eq!(store.replace(long, Time::ZERO).name(), "applied"));
        // The second comes as soon as the store knows the first, whose plan takes longer.
        while store.rules().rules().len() != 2000 {
            thread::yield_now();
        }
        assert_eq!(store.replace(short, Time::ZERO).name(), "applied");
    });
    let answer = check(&store, Time::ZERO, 1.0, &[("user", "u0")], Details::default()).await;
    assert_eq!(answer.fault, None);
    assert!(Arc::ptr_eq(answer.rules(), &store.rules()));
    assert_eq!(store.rules().rules().len(), 1);
}
