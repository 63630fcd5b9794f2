//! Properties of any text that may be a link to the Scope or to Compare, or the choices of Tune. The tests and the fuzzer
//! check them.

use ratescope_lab::run::{Link, Named};
use ratescope_lab::tune::Choices;
use ratescope_lab::{compare, scope};

/// Panics unless a link that is right is written as one that says the same, and one that is wrong
/// says what is wrong.
pub(crate) fn hold(text: &str) {
    link::<scope::Settings>(text);
    link::<compare::Settings>(text);
    if let Ok(choices) = text.parse::<Choices>() {
        let written = choices.to_string();
        let again = written.parse::<Choices>().expect("what was written is read");
        assert_eq!(again.to_string(), written);
    }
}

fn link<S: Named>(text: &str) {
    let (_, wrong) = Link::<S>::good_parts(text);
    match text.parse::<Link<S>>() {
        Ok(link) => {
            assert!(wrong.is_none(), "{wrong:?}");
            let written = link.to_string();
            let again = written.parse::<Link<S>>().expect("what was written is read");
            assert_eq!(again.to_string(), written);
        }
        Err(error) => {
            assert!(!error.problem().is_empty());
            assert!(wrong.is_some(), "{error}");
        }
    }
}
