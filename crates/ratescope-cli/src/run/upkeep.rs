//! The work of each second: the health, the counters and old data.

use super::admin::Admin;
use super::load::Source;
use super::log;
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};
use ratescope::clock::Clock;
use ratescope::rules::{Exception, Load};
use std::error::Error;
use std::time::Duration;
use tokio::time::sleep;
use tonic_health::ServingStatus;
use tonic_health::server::HealthReporter;

/// How often gauges are set, histograms emptied, and old data of Live dropped.
const UPKEEP: Duration = Duration::from_secs(1);

/// The service that serves, by gRPC health, while the health is green.
const GREEN: &str = "green";

/// The bounds of the buckets of histograms, in seconds: a decision takes microseconds in memory, and a round trip on
/// Redis, which may take a deadline of tens of milliseconds.
const BUCKETS: [f64; 14] = [
    0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 1.0,
    5.0,
];

/// Starts to record the counters for Prometheus, and returns the handle that renders them.
pub(super) fn record() -> Result<PrometheusHandle, Box<dyn Error>> {
    let recorder = PrometheusBuilder::new().set_buckets(&BUCKETS)?.build_recorder();
    let handle = recorder.handle();
    metrics::set_global_recorder(recorder)?;
    metrics::describe_counter!(
        "ratescope_leased_here_total",
        "decisions that leases and syncs made without a call to the store"
    );
    metrics::describe_counter!(
        "ratescope_leased_events_total",
        "events that were taken from the store in advance"
    );
    metrics::describe_counter!(
        "ratescope_leased_given_back_total",
        "events that were taken in advance, and given back"
    );
    metrics::describe_counter!(
        "ratescope_leased_lost_total",
        "events that were taken in advance, and could not be given back"
    );
    metrics::describe_counter!(
        "ratescope_synced_calls_total",
        "calls by which the store was told what was counted here"
    );
    metrics::describe_counter!(
        "ratescope_synced_lost_total",
        "events of which the store was told without an answer, and which it may not have counted"
    );
    metrics::describe_gauge!(
        "ratescope_synced_waiting_seconds",
        "how long the oldest event has waited of which the store was not told"
    );
    metrics::describe_gauge!(
        "ratescope_synced_slowest_seconds",
        "the longest time from an event until the store had counted it and answered, since the process began"
    );
    metrics::describe_gauge!("ratescope_green", "1 while the health is green, and else 0");
    metrics::describe_gauge!("ratescope_load_percent", "The load on which elastic rules depend");
    metrics::describe_gauge!("ratescope_build_info", "1, labelled with the version");
    metrics::gauge!("ratescope_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
    metrics_process::Collector::default().describe();
    Ok(handle)
}

/// Every [`UPKEEP`], for ever, asks whether the store answers, updates the gauges and has the probe drop old data.
pub(super) async fn keep_up(admin: &Admin, reporter: &HealthReporter, load: Option<&Source>) {
    let Admin { service, metrics, health, .. } = admin;
    let process = metrics_process::Collector::default();
    let mut was_green = None;
    let mut was_lost = 0;
    loop {
        process.collect();
        health.ping().await;
        for (domain, one) in service.refresh_exceptions().await {
            let Exception { limit, subject, limiter, by, .. } = one;
            let limiter = limiter.to_string();
            tracing::info!(target: "ratescope", domain, limit, key = subject, limiter, by, "an exception has ended");
        }
        match load.and_then(Source::measure) {
            Some(load) => service.set_load(load.ok()),
            None => service.forget_load(),
        }
        if load.is_some() {
            metrics::gauge!("ratescope_load_percent")
                .set(service.load().map_or(f64::NAN, Load::percent));
        }
        let is_green = health.is_green();
        // Who watches is told of changes only.
        if was_green.replace(is_green) != Some(is_green) {
            let status = if is_green { ServingStatus::Serving } else { ServingStatus::NotServing };
            reporter.set_service_status(GREEN, status).await;
        }
        metrics::gauge!("ratescope_green").set(f64::from(u8::from(is_green)));
        sleep(UPKEEP).await;
        service.probe().forget(service.clock().now());
        // With the names that the layers of `/auth` use for the same gauges.
        for (domain, memory) in service.memory() {
            let layer = [("layer", domain)];
            metrics::gauge!("ratescope_keys", &layer).set(memory.keys as f64);
            metrics::counter!("ratescope_keys_evicted_total", &layer).absolute(memory.evicted);
        }
        if let Some(leased) = service.leased() {
            metrics::counter!("ratescope_leased_here_total").absolute(leased.here);
            metrics::counter!("ratescope_leased_events_total").absolute(leased.lent);
            metrics::counter!("ratescope_leased_given_back_total").absolute(leased.given_back);
            metrics::counter!("ratescope_leased_lost_total").absolute(leased.lost);
            metrics::counter!("ratescope_synced_calls_total").absolute(leased.told);
            metrics::counter!("ratescope_synced_lost_total").absolute(leased.told_lost);
            metrics::gauge!("ratescope_synced_waiting_seconds").set(leased.waits.as_secs_f64());
            metrics::gauge!("ratescope_synced_slowest_seconds").set(leased.slowest.as_secs_f64());
            let lost = leased.told_lost - was_lost;
            was_lost = leased.told_lost;
            if lost > 0 {
                tracing::warn!(
                    target: "ratescope",
                    lost,
                    "the store was told of these events and has not answered; it may not have counted them"
                );
            }
        }
        metrics.run_upkeep();
        log::report_left_out();
    }
}
