//! Converts a limiter to a server's configuration, and back. For the Worker, since the pages' build of the module
//! leaves out the syntax of eleven servers.
//!
//! In the pictures all events have one sender, so a limiter has no key there. A server has many senders: a written
//! limit counts each address, unless it names other fields, and a limit that is read loses its key.

use ratescope::policy::{Limit, Policy};
use ratescope_config::{Target, read};
use wasm_bindgen::prelude::*;

/// Two texts for each server: its name for [`write_configuration`], and its name for people.
#[wasm_bindgen]
pub fn configuration_targets() -> Vec<String> {
    let names = Target::ALL.map(|target| [target.to_string(), target.title().to_owned()]);
    names.into_iter().flatten().collect()
}

/// Writes a policy for a server: where the text goes, the text, and notes on it.
#[wasm_bindgen]
pub fn write_configuration(policy: &str, target: &str) -> Result<Vec<String>, JsValue> {
    let policy: Policy = policy.parse().map_err(js_error)?;
    let target: Target = target.parse().map_err(js_error)?;
    let keyed = |limit: &Limit| match limit.per.fields() {
        [] => limit.clone().by("ip"),
        _ => Ok(limit.clone()),
    };
    let limits = policy.limits().iter().map(keyed).collect::<Result<_, _>>().map_err(js_error)?;
    let policy = Policy::new(limits).map_err(js_error)?;
    let written = target.configure(&policy).map_err(js_error)?;
    Ok([target.file().to_owned(), written.text].into_iter().chain(written.warnings).collect())
}

/// Reads the limits of a configuration. Two texts for each limit: its name in the configuration, with its line, and its
/// limiter. A remark of the reader has no limiter.
#[wasm_bindgen]
pub fn read_configuration(text: &str) -> Result<Vec<String>, JsValue> {
    let config = read(text).map_err(js_error)?;
    let found = config.found.iter().flat_map(|found| {
        let scope = found.scope.as_deref().unwrap_or_default();
        let words = [config.target.title(), &found.name, scope].into_iter();
        let named: Vec<&str> = words.filter(|word| !word.is_empty()).collect();
        let name = format!("{}, line {}", named.join(" "), found.line);
        [name, found.limit.limiter.to_string()]
    });
    let remarks = config.remarks.iter().flat_map(|remark| [remark.to_string(), String::new()]);
    Ok(found.chain(remarks).collect())
}

fn js_error(error: impl core::fmt::Display) -> JsValue {
    JsValue::from_str(&error.to_string())
}
