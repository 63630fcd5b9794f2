//! Rust: the constant in an exported file.

use super::words::lines;
use super::{Config, Found, Remark};
use crate::{Addresses, Only};
use ratescope::ParseError;
use ratescope::policy::Policy;

const BEGIN: &str = "const LIMITS: &str = \"";

fn policies(text: &str) -> impl Iterator<Item = (usize, &str)> {
    lines(text, &["//"]).filter_map(|(line, text)| {
        let (_, policy) = text.split_once(BEGIN)?;
        Some((line, policy.split_once('"')?.0))
    })
}

pub(super) fn is_known(text: &str) -> bool {
    policies(text).next().is_some()
}

pub(super) fn read(text: &str, config: &mut Config) -> Result<(), Remark> {
    for (line, policy) in policies(text) {
        match policy.parse::<Policy>() {
            Ok(policy) => {
                for (n, limit) in (1..).zip(policy.limits().iter().cloned()) {
                    let name = format!("limit{n}");
                    config.add(
                        line,
                        Ok(Found {
                            name,
                            line,
                            limit,
                            addresses: Addresses::default(),
                            scope: None,
                            only: Only::All,
                        }),
                    );
                }
            }
            Err(error) => config.remark(line, ParseError::to_string(&error)),
        }
    }
    Ok(())
}
