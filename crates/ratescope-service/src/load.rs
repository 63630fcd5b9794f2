//! The load of the service, on which elastic rules depend.

use super::Service;
use core::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use ratescope::clock::Clock;
use ratescope::rules::{Load, Rules, RulesError, Store, Throttle};
use ratescope::time::{Span, Time};
use std::sync::Arc;

/// How long a load is believed after it was told.
pub(super) const BELIEVED: Span = Span::from_secs(30);

/// The load that was told last.
#[derive(Debug)]
pub(super) struct LoadState {
    /// True if somebody tells it.
    is_told: bool,
    /// The field of requests that tells it.
    field: Option<String>,
    /// The bits of the percent; NaN if it is unknown.
    percent: AtomicU64,
    /// When it was told, in microseconds.
    at: AtomicI64,
}

impl Default for LoadState {
    fn default() -> Self {
        let percent = AtomicU64::new(f64::NAN.to_bits());
        LoadState { is_told: false, field: None, percent, at: AtomicI64::new(i64::MIN) }
    }
}

impl LoadState {
    pub(super) fn get(&self) -> Option<Load> {
        Load::from_percent(f64::from_bits(self.percent.load(Ordering::Relaxed))).ok()
    }

    /// Refuses rules that depend on a load that nobody tells.
    pub(super) fn check(&self, rules: &Rules) -> Result<(), RulesError> {
        let is_elastic = |throttle| matches!(throttle, Throttle::Elastic { .. });
        let mut each = rules.rules().iter();
        match each.find(|rule| !self.is_told && is_elastic(rule.throttle())) {
            None => Ok(()),
            Some(rule) => Err(rules.wrong(format!(
                "line {}: {} depends on the load, which nobody tells; run with --load pressure, --load average, \
                 --load admin or --load field:NAME, or leave out its throttle",
                rule.line(),
                rule.throttle()
            ))),
        }
    }
}

/// A load as requests have it, as in `42` or `42%`.
fn read(text: &str) -> Option<Load> {
    let percent = text.strip_suffix('%').unwrap_or(text);
    Load::from_percent(percent.parse().ok()?).ok()
}

impl<C: Clock> Service<C> {
    /// Takes rules that depend on the load of the service; otherwise they are refused, since they would always be hard.
    /// [`set_load`](Self::set_load) tells it or, if a `field` is named, so does each request that has this field, as in
    /// `42` or `42%`. A value that is no load makes the load unknown. Call it before rules are added.
    #[must_use]
    pub fn with_load(mut self, field: Option<&str>) -> Self {
        let field = field.map(str::to_owned);
        self.load = Arc::new(LoadState { is_told: true, field, ..LoadState::default() });
        self
    }

    /// Sets the load of the service; `None` if it is unknown, when elastic rules are hard. It is believed for 30
    /// seconds: see [`forget_load`](Self::forget_load).
    pub fn set_load(&self, load: Option<Load>) {
        let LoadState { percent, at, .. } = &*self.load;
        at.store(self.clock.now().as_micros(), Ordering::Relaxed);
        let now = load.map_or(f64::NAN, Load::percent).to_bits();
        if percent.swap(now, Ordering::Relaxed) != now {
            self.domains.load().values().for_each(|domain| domain.store.set_load(load));
        }
    }

    /// The load that is believed at present.
    pub fn load(&self) -> Option<Load> {
        self.load.get()
    }

    /// Makes the load unknown if nobody has told it for 30 seconds. Call it every second or so.
    pub fn forget_load(&self) {
        let at = Time::from_micros(self.load.at.load(Ordering::Relaxed));
        if self.load.get().is_some() && at.until(self.clock.now()) > BELIEVED {
            self.set_load(None);
        }
    }

    /// Takes over the load that a request tells in a field.
    pub(super) fn hear_load<'a>(&self, fields: impl IntoIterator<Item = (&'a str, &'a str)>) {
        let Some(named) = &self.load.field else { return };
        let told = fields.into_iter().find(|(name, _)| name == named);
        if let Some((_, value)) = told {
            self.set_load(read(value));
        }
    }

    /// The field of requests that tells the load.
    pub(super) fn load_field(&self) -> Option<&str> {
        self.load.field.as_deref()
    }
}
