//! Texts of headers that last as long as the process.
//!
//! A text that responses share has a reference count, on which all threads contend. A `&'static str` has none. A reload
//! brings mostly texts that are here already, and all texts together are bounded.

use http::HeaderValue;
use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The most bytes of all texts: those of about a thousand limits.
const MOST: usize = 64 << 10;

/// The texts, and their bytes.
static LASTING: Mutex<(BTreeSet<&str>, usize)> = Mutex::new((BTreeSet::new(), 0));

/// The value of a header that many responses share. Its text lasts if there is room.
pub(super) fn lasting(text: String) -> HeaderValue {
    let Ok(counted) = HeaderValue::try_from(text.as_str()) else {
        return HeaderValue::from_static("");
    };
    let (texts, size) = &mut *LASTING.lock().unwrap_or_else(PoisonError::into_inner);
    match texts.get(text.as_str()) {
        Some(text) => HeaderValue::from_static(text),
        None if counted.to_str().is_err() || *size + text.len() > MOST => counted,
        None => {
            let text: &str = text.leak();
            texts.insert(text);
            *size += text.len();
            HeaderValue::from_static(text)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_last_while_there_is_room() {
        let are_one = |text: &str| {
            let [a, b] = [0, 1].map(|_| lasting(text.to_owned()));
            a == text && b == text && a.as_bytes().as_ptr() == b.as_bytes().as_ptr()
        };
        assert!(are_one("\"web\";q=5;w=60"));
        let last = (0..100).find(|i| !are_one(&format!("{i:01000}")));
        assert!(last.is_some_and(|i| i > 50), "{last:?}");
        assert!(LASTING.lock().unwrap_or_else(PoisonError::into_inner).1 <= MOST);
        for (text, value) in [("", ""), ("a\nb", ""), ("h\u{e9}", "h\u{e9}")] {
            assert_eq!(lasting(text.to_owned()), value);
        }
    }
}
