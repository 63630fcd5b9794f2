//! The settings of the scope, by the names that its controls and links use.

use super::Outlook;
use crate::lane::Template;
use crate::run::lenient::{is_rate, rate};
use crate::run::settings::{
    auto_rate, decimal, on_off, or, seed, span, speed, switch, whole, window, within,
};
use crate::run::{Named, RunSettings, Setting, setting};
use core::ops::RangeInclusive;
use ratescope::limit::any::AnyLimiter;
use ratescope::limit::exim::{Exim, Mode};
use ratescope::limit::leaky_bucket::LeakyBucket;
use ratescope::policy::{Limit, Policy};
use ratescope::rate::Rate;
use ratescope::text::ParseError;
use ratescope::time::Span;

const INTERVAL: RangeInclusive<Span> = Span::from_micros(100_000)..=Span::from_hours(7 * 24);

/// The range of a limit, in events per decay interval.
const LIMIT: RangeInclusive<f64> = 0.0..=1e9;

/// All settings of the scope.
#[derive(Clone, Debug, PartialEq)]
pub struct Settings {
    /// The decay interval p of the red line, from 100 ms to 1 week.
    pub decay: Span,
    /// The increase interval q of the blue line, from 100 ms to 1 week.
    pub increase: Span,
    /// The limit, in events per decay interval, from 0 to 10^9; 0 only measures. A rate sets the interval, too.
    pub limit: f64,
    /// Which events Exim counts.
    pub mode: Mode,
    /// The policy that decides in place of Exim's limiter, as in a lane. Limits without a rate have
    /// the limit and the decay interval.
    pub template: Option<Template>,
    /// The exact count of the last decay interval is drawn as well.
    pub exact: bool,
    /// A burst that the limit lets through is drawn as well.
    pub ghost: bool,
    /// The level of a leaky bucket is drawn as well.
    pub bucket: bool,
    /// The mean of the last events is drawn as well.
    pub mean: bool,
    /// The number of events in that mean, from 1 to 1000.
    pub last: u32,
    /// N of the recent average is drawn as well.
    pub recent: bool,
    /// Exim's rate as of 2009, without today's lower bound, is drawn as well.
    pub former: bool,
    /// The memory of the limiter at the right edge is drawn as well.
    pub memory: bool,
    /// The settings of every run.
    pub common: RunSettings,
}

impl Default for Settings {
    fn default() -> Self {
        Settings {
            decay: Span::from_secs(10),
            increase: Span::from_mins(1),
            limit: 10.0,
            mode: Mode::Strict,
            template: None,
            exact: false,
            ghost: false,
            bucket: false,
            mean: false,
            last: 10,
            recent: false,
            former: false,
            memory: false,
            common: RunSettings::default(),
        }
    }
}

impl Named for Settings {
    const SETTINGS: &'static [Setting<Self>] = &[
        setting!("decay", [FromStart], |s, text| *s = s.decaying(text)?, s.decay),
        setting!("increase", [FromStart], |s| s.increase, interval),
        setting!("limit", [FromStart], |s, text| *s = s.allowing(text)?, s.limit),
        setting!("mode", [FromStart], |s| s.mode, mode),
        setting!("auto", [Traffic], |s| s.common.auto, switch, on_off),
        setting!("pattern", [Traffic], |s| s.common.pattern, str::parse),
        setting!("auto-rate", [Traffic], |s| s.common.auto_rate, auto_rate::<1_000_000>),
        setting!("seed", [Traffic], |s| s.common.seed, seed),
        setting!("speed", [View], |s| s.common.speed, speed),
        setting!("window", [View], |s| s.common.window, window),
        setting!("exact", [View], |s| s.exact, switch, on_off),
        setting!("ghost", [View], |s| s.ghost, switch, on_off),
        // When one of these thin lines is switched on, its past is computed.
        setting!("bucket", [View, FromStart], |s| s.bucket, switch, on_off),
        setting!("mean", [View, FromStart], |s| s.mean, switch, on_off),
        setting!("last", [View, FromStart], |s, text| s.last = whole(text, 1..=1000)?, s.last),
        setting!("recent", [View, FromStart], |s| s.recent, switch, on_off),
        setting!("rate-2009", [View, FromStart], |s| s.former, switch, on_off),
        setting!("memory", [View], |s| s.memory, switch, on_off),
        setting!("limiter", [FromStart], |s, text| *s = s.decided(text)?, or(&s.template, "exim")),
    ];

    fn common(&self) -> &RunSettings {
        &self.common
    }
}

fn interval(text: &str) -> Result<Span, ParseError> {
    span(text, INTERVAL)
}

fn mode(text: &str) -> Result<Mode, ParseError> {
    match text {
        "strict" => Ok(Mode::Strict),
        "leaky" => Ok(Mode::Leaky),
        _ => Err(ParseError::whole(text, "write strict or leaky")),
    }
}

impl Settings {
    /// These settings with the decay interval of the text.
    fn decaying(&self, text: &str) -> Result<Self, ParseError> {
        self.limited(text, self.limit, interval(text)?)
    }

    /// These settings with the limit of the text. A rate, as in `60/min`, also sets the decay interval.
    fn allowing(&self, text: &str) -> Result<Self, ParseError> {
        if !is_rate(text) {
            return self.limited(text, decimal(text, LIMIT)?, self.decay);
        }
        let rate = rate(text, *INTERVAL.start())?;
        self.limited(text, rate.count(), rate.per())
    }

    /// These settings with another limit and decay interval, if both are in range and valid for the policy.
    fn limited(&self, value: &str, limit: f64, decay: Span) -> Result<Self, ParseError> {
        let limit = within(value, limit, &LIMIT)?;
        let decay = within(value, decay, &INTERVAL)?;
        let limited = Settings { limit, decay, ..self.clone() };
        limited.policy().map_err(|error| ParseError::whole(value, error.to_string()))?;
        Ok(limited)
    }

    /// These settings with the limiter of the text. For Exim's limiter, its rate and mode become settings, without a
    /// template.
    fn decided(&self, text: &str) -> Result<Self, ParseError> {
        if matches!(text, "" | "exim") {
            return Ok(Settings { template: None, ..self.clone() });
        }
        let rate = Rate::new(self.limit, self.decay)?;
        let (template, policy) = Template::read(text, rate)?;
        if template.way().is_some() {
            let help = "there are no clients here that try again; the lanes of Compare have them";
            return Err(ParseError::whole(text, help));
        }
        if template.sharing().is_some() {
            let help = "there is one process here; the lanes of Compare have several";
            return Err(ParseError::whole(text, help));
        }
        if template.model(rate).is_none()
            && let [Limit { limiter: AnyLimiter::Exim(Exim { limit, mode }), .. }] = policy.limits()
            && *mode != Mode::Readonly
        {
            let own = Settings { template: None, ..self.clone() };
            let mode = *mode;
            let mut own = own.limited(text, limit.count(), limit.per())?;
            own.mode = mode;
            return Ok(own);
        }
        Ok(Settings { template: Some(template), ..self.clone() })
    }

    /// The policy that decides in place of Exim's limiter, if there is one.
    ///
    /// # Errors
    /// When the policy can't have the limit.
    pub(super) fn policy(&self) -> Result<Option<(Template, Policy)>, ParseError> {
        let Some(template) = &self.template else { return Ok(None) };
        let policy = template.resolve(Rate::new(self.limit, self.decay)?)?;
        Ok(Some((template.clone(), policy)))
    }

    /// Tells whether the setting `limit` has an effect: a template with rates of its own ignores it.
    pub fn is_limited(&self) -> bool {
        let with = |limit| Settings { limit, ..self.clone() }.policy().ok().flatten();
        self.template.is_none() || with(self.limit) != with(self.limit / 2.0)
    }

    /// Exim's limiter that measures, without a limit if another limiter decides.
    pub(super) fn measure(&self) -> Result<Exim, ParseError> {
        match self.template {
            None => self.limiter(),
            Some(_) => Ok(Exim { limit: Rate::new(0.0, self.decay)?, mode: Mode::Strict }),
        }
    }

    /// Exim's limiter with the limit and the mode.
    ///
    /// # Errors
    /// When a field was given a value that [`set`](Self::set) would have refused.
    pub fn limiter(&self) -> Result<Exim, ParseError> {
        Ok(Exim { limit: Rate::new(self.limit, self.decay)?, mode: self.mode })
    }

    /// Tells whether a line of the [models](super::models) is drawn.
    pub fn shows_models(&self) -> bool {
        self.bucket || self.mean || self.recent || self.former
    }

    /// The leaky bucket of the [models](super::models), which drains at the limit and holds its count; `None` if the
    /// limit is too low for a bucket.
    pub fn leaky_bucket(&self) -> Option<LeakyBucket> {
        let rate = Rate::new(self.limit, self.decay).ok()?;
        LeakyBucket::new(rate, self.limit).ok().filter(|_| self.limit > 0.0)
    }

    /// Predicts how much the limit lets through, at once and at the rate of the automatic events, even if these
    /// are off.
    ///
    /// # Errors
    /// As for [`limiter`](Self::limiter).
    pub fn outlook(&self) -> Result<Outlook, ParseError> {
        Ok(Outlook::new(&self.limiter()?, self.common.auto_rate))
    }
}
