//! The configuration of servers: no text panics, and a limiter that was read can be written.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    if let Ok(config) = ratescope_config::read(text)
        && let Ok(policy) = config.policy()
    {
        let _ = config.target.configure_for(&policy, config.addresses, None);
    }
});
