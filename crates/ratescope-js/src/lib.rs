//! Limiters and stores for programs in JavaScript: the package in `npm/`, whose README and tests are there.
//!
//! `Limiter` is an algorithm without memory, `State` its memory of one sender, and `Store` a policy with the states of its
//! keys. A limiter answers an `Outcome`, a store a `Decision`: plain objects, which JavaScript frees by itself. Times are
//! milliseconds from any origin, such as those of `Date.now()`; spans are milliseconds, too.
//!
//! Any argument from JavaScript gives an answer or an `Error`: an argument of another type, a getter that throws or NaN
//! must not end the module, whose memory all its stores share.
#![cfg(target_arch = "wasm32")]
#![warn(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use core::time::Duration;
use ratescope::event::{Event, Fields};
use ratescope::limit::Limiter as _;
use ratescope::limit::any::{AnyLimiter, AnyState};
use ratescope::outcome::{self, Retry};
use ratescope::policy::Policy;
use ratescope::rules::{self, MemoryStore};
use ratescope::store;
use ratescope::text::BadNumber;
use ratescope::time::{Span, Time};
use wasm_bindgen::prelude::*;

/// The answers as plain objects, which JavaScript frees by itself.
#[wasm_bindgen(inline_js = "
export const outcome = (allowed, wait, level, limit) => ({ allowed, wait, level, limit });
export const decision = (allowed, wait, level, limit, by) => ({ allowed, wait, level, limit, by });
export const random = () => {
  const words = new Uint32Array(4);
  return globalThis.crypto ? crypto.getRandomValues(words) : words.map(() => Math.random() * 2 ** 32);
};
export const field = (fields, name) => fields[name] === undefined ? undefined : String(fields[name]);
")]
extern "C" {
    /// The answer of a limiter: `{ allowed, wait, level, limit }`.
    #[wasm_bindgen(typescript_type = "Outcome")]
    pub type Outcome;
    /// The answer of a store: an `Outcome` with another field, `by`, the text of the limit that decided.
    #[wasm_bindgen(typescript_type = "Decision")]
    pub type Decision;
    /// The texts that keys are made of, by name.
    #[wasm_bindgen(typescript_type = "Record<string, unknown>")]
    pub type Named;

    /// Four random words of 32 bits.
    fn random() -> Vec<u32>;
    fn outcome(allowed: bool, wait: f64, level: f64, limit: f64) -> Outcome;
    fn decision(allowed: bool, wait: f64, level: f64, limit: f64, by: &str) -> Decision;
    /// Fails if a getter or the text of a value fails, as of `{"toString": 1}`, which a client may have sent as JSON.
    /// Without `catch`, each error would leak a borrowed value in the module, and a thousand would exhaust it.
    #[wasm_bindgen(catch)]
    fn field(fields: &Named, name: &str) -> Result<Option<String>, JsValue>;
}

#[wasm_bindgen(typescript_custom_section)]
const TYPES: &str = "
/** The answer of a limiter about an event. */
export interface Outcome {
  /** Whether the event may pass. */
  allowed: boolean;
  /** Milliseconds that an allowed event waits in a queue; 0 for limiters without one. */
  wait: number;
  /** The level that the limiter measured: a rate, a count or a fill level, in the unit of its limit. */
  level: number;
  /** The limit that the level was compared with. */
  limit: number;
}

/** The answer of a store about an event. */
export interface Decision extends Outcome {
  /** The limit that decided, as a text. */
  by: string;
}
";

/// A limiter, without memory: each sender has a `State`.
#[wasm_bindgen]
pub struct Limiter(AnyLimiter);

/// The memory of a limiter about one sender.
#[wasm_bindgen]
pub struct State(AnyState);

#[wasm_bindgen]
impl Limiter {
    /// Reads a limiter, such as `gcra 10/1s burst 20` or `exim 100/1h strict`. Throws an `Error` that
    /// says what is wrong and what would be right.
    pub fn parse(
        #[wasm_bindgen(unchecked_param_type = "string")] text: &JsValue,
    ) -> Result<Limiter, JsError> {
        Ok(Limiter(string(text, "a limiter")?.parse()?))
    }

    /// The state of a sender who was never seen.
    pub fn state(&self) -> State {
        State(self.0.initial())
    }

    /// Decides about an event at `now` and counts it. The cost is 1 unless it is given.
    pub fn check(
        &self,
        state: &mut State,
        now: f64,
        cost: Option<f64>,
    ) -> Result<Outcome, JsError> {
        Ok(to_outcome(self.0.check(&mut state.0, time(now)?, cost.unwrap_or(1.0))))
    }

    /// Answers as `check` would, and counts nothing.
    pub fn peek(&self, state: &State, now: f64, cost: Option<f64>) -> Result<Outcome, JsError> {
        Ok(to_outcome(self.0.peek(&state.0, time(now)?, cost.unwrap_or(1.0))))
    }

    /// The milliseconds until the event would pass; `Infinity` if it never will.
    #[wasm_bindgen(js_name = retryAfter)]
    pub fn retry_after(&self, state: &State, now: f64, cost: Option<f64>) -> Result<f64, JsError> {
        Ok(milliseconds(self.0.retry_after(&state.0, time(now)?, cost.unwrap_or(1.0))))
    }

    /// The text form, as `parse` reads it.
    #[wasm_bindgen(js_name = toString)]
    pub fn text(&self) -> String {
        self.0.to_string()
    }
}

/// One or several limits, and the states of their keys.
#[wasm_bindgen]
pub struct Store {
    policy: Policy,
    store: MemoryStore,
}

#[wasm_bindgen]
impl Store {
    /// A store for a policy, such as `gcra 10/1s burst 20 per user & 1000/1h per ip`, with room for `capacity` keys of
    /// each limit; 100,000 unless it is given. Throws an `Error` for a policy that it can't read, or a capacity that is
    /// not a whole number up to 4,294,967,295.
    #[wasm_bindgen(constructor)]
    pub fn new(
        #[wasm_bindgen(unchecked_param_type = "string")] policy: &JsValue,
        capacity: Option<f64>,
    ) -> Result<Store, JsError> {
        let policy: Policy = string(policy, "a policy")?.parse()?;
        let capacity = capacity.unwrap_or(100_000.0);
        // With `usize` in the signature, -1 would become 4,294,967,295, and 2^32 would become 0.
        if capacity != f64::from(capacity as u32) {
            return Err(JsError::new("the capacity must be a whole number from 0 to 4294967295"));
        }
        // No store here shares its states, so each gets a new secret.
        if let [a, b, c, d] = random().as_slice() {
            let word = |high: &u32, low: &u32| u64::from(*high) << 32 | u64::from(*low);
            store::Secret::seed([word(a, b), word(c, d)]);
        }
        let store = MemoryStore::new(policy.clone(), capacity as usize);
        Ok(Store { policy, store })
    }

    /// Decides about an event with these fields, such as `{ user, ip }`, at `now`, and counts it in all
    /// limits or in none.
    pub fn check(&self, fields: &Named, now: f64, cost: Option<f64>) -> Result<Decision, JsValue> {
        Ok(self.answer(self.decide(fields, now, cost, |event| self.store.check(event))?))
    }

    /// Answers as `check` would, and counts nothing.
    pub fn peek(&self, fields: &Named, now: f64, cost: Option<f64>) -> Result<Decision, JsValue> {
        Ok(self.answer(self.decide(fields, now, cost, |event| self.store.peek(event))?))
    }

    /// Counts an event that passed, at a cost that is known only afterwards.
    pub fn charge(&self, fields: &Named, now: f64, cost: f64) -> Result<(), JsValue> {
        let settle = |event: &Event<'_>| {
            if cost >= 0.0 {
                self.store.settle(event, event.time, None)
            } else {
                Err(BadNumber { what: "a cost", given: cost, want: "0 or more" })
            }
        };
        let charged = self.decide(fields, now, Some(cost), settle)?;
        Ok(charged.map_err(JsError::from)?)
    }

    /// The milliseconds until the event would pass; `Infinity` if it never will.
    #[wasm_bindgen(js_name = retryAfter)]
    pub fn retry_after(&self, fields: &Named, now: f64, cost: Option<f64>) -> Result<f64, JsValue> {
        Ok(milliseconds(self.decide(fields, now, cost, |event| self.store.retry_after(event))?))
    }

    /// How many keys are remembered.
    #[wasm_bindgen(getter)]
    pub fn size(&self) -> usize {
        self.store.len()
    }

    /// The policy, as the constructor reads it.
    #[wasm_bindgen(js_name = toString)]
    pub fn text(&self) -> String {
        self.policy.to_string()
    }

    fn decide<T>(
        &self,
        fields: &Named,
        now: f64,
        cost: Option<f64>,
        ask: impl FnOnce(&Event<'_>) -> T,
    ) -> Result<T, JsValue> {
        let names = self.policy.fields();
        let found = names
            .filter_map(|name| Some(field(fields, name).transpose()?.map(|text| (name, text))));
        let found: Vec<(&str, String)> = found.collect::<Result<_, _>>()?;
        let fields: &dyn Fields = &found;
        Ok(ask(&Event { time: time(now)?, cost: cost.unwrap_or(1.0), fields }))
    }

    fn answer(&self, answer: rules::Decision) -> Decision {
        let by = answer.decided_by().map(|one| one.limit.to_string());
        let outcome = answer.outcome().unwrap_or(outcome::Outcome::new(true, 0.0, 0.0));
        let outcome::Outcome { level, limit, .. } = outcome;
        let by = by.as_deref().unwrap_or_default();
        self::decision(answer.is_allowed(), wait(outcome), level, limit, by)
    }
}

/// The text of an argument. With `&str` in the signature, any other type would read out of bounds.
fn string(value: &JsValue, what: &str) -> Result<String, JsError> {
    value.as_string().ok_or_else(|| JsError::new(&format!("{what} must be given as a string")))
}

fn to_outcome(answer: outcome::Outcome) -> Outcome {
    outcome(answer.is_allowed(), wait(answer), answer.level, answer.limit)
}

fn wait(answer: outcome::Outcome) -> f64 {
    answer.wait.map_or(0.0, in_milliseconds)
}

fn milliseconds(retry: Retry) -> f64 {
    retry.wait().map_or(f64::INFINITY, in_milliseconds)
}

/// A span in milliseconds, from its whole microseconds: from its seconds, the last digit could be wrong.
fn in_milliseconds(span: Span) -> f64 {
    Duration::try_from(span).map_or(f64::INFINITY, |span| span.as_micros() as f64 / 1e3)
}

fn time(milliseconds: f64) -> Result<Time, JsError> {
    // Without the number: printing it would make the module larger by an eighth.
    let wrong = |_| JsError::new("the time must be a number of milliseconds, as Date.now() has it");
    Time::try_from_secs_f64(milliseconds / 1e3).map_err(wrong)
}
