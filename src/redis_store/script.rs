//! The scripts: a frame, and the algorithms that it needs.

use crate::limit::in_f64::Form;
use sha1_smol::Sha1;

/// A script and the name under which Redis knows it.
#[derive(Clone, Debug)]
pub(super) struct Script {
    pub(super) text: String,
    pub(super) sha: String,
}

const NUMBERS: &str = include_str!("lua/numbers.lua");
const DECAY: &str = include_str!("lua/decay.lua");
const PRODUCT: &str = include_str!("lua/product.lua");
const ONE: &str = include_str!("lua/one.lua");
const ALL: &str = include_str!("lua/all.lua");

/// All algorithms, in the order of their numbers in `all.lua`.
pub(super) const FORMS: [Form; 10] = [
    Form::Bucket,
    Form::Window,
    Form::Counter,
    Form::Blocks,
    Form::Exim,
    Form::Earrrl,
    Form::Adaptive,
    Form::Nginx,
    Form::Haproxy,
    Form::Envoy,
];

/// What an algorithm is called in its file, what the file says, and what it needs before it.
fn file(form: Form) -> (&'static str, &'static str, Option<&'static str>) {
    match form {
        Form::Bucket => ("bucket", include_str!("lua/bucket.lua"), None),
        Form::Window => ("window", include_str!("lua/window.lua"), None),
        Form::Counter => ("counter", include_str!("lua/counter.lua"), Some(PRODUCT)),
        Form::Blocks => ("blocks", include_str!("lua/blocks.lua"), None),
        Form::Exim => ("exim", include_str!("lua/exim.lua"), Some(DECAY)),
        Form::Earrrl => ("earrrl", include_str!("lua/earrrl.lua"), Some(DECAY)),
        Form::Adaptive => ("adaptive", include_str!("lua/adaptive.lua"), Some(DECAY)),
        Form::Nginx => ("nginx", include_str!("lua/nginx.lua"), None),
        Form::Haproxy => ("haproxy", include_str!("lua/haproxy.lua"), None),
        Form::Envoy => ("envoy", include_str!("lua/envoy.lua"), None),
    }
}

/// The number of an algorithm in `all.lua`.
pub(super) fn number(form: Form) -> u8 {
    FORMS.iter().position(|known| *known == form).map_or(0, |at| at as u8 + 1)
}

impl Script {
    fn new(text: String) -> Self {
        let sha = Sha1::from(&text).digest().to_string();
        Script { text, sha }
    }

    /// For one limit at one key.
    pub(super) fn one(form: Form) -> Self {
        let (name, upper) = (file(form).0, file(form).0.to_uppercase());
        let chosen = format!("local look, keep, INITIAL = look_{name}, keep_{name}, {upper}\n");
        Script::new(parts(&[form]) + &chosen + ONE)
    }

    /// For any number of limits by these algorithms.
    pub(super) fn all(forms: &[Form]) -> Self {
        let mut chosen = "local look, keep, initial = {}, {}, {}\n".to_owned();
        for form in forms {
            let (n, name, upper) = (number(*form), file(*form).0, file(*form).0.to_uppercase());
            let line =
                format!("look[{n}], keep[{n}], initial[{n}] = look_{name}, keep_{name}, {upper}\n");
            chosen += &line;
        }
        Script::new(parts(forms) + &chosen + ALL)
    }
}

/// What algorithms need, each once, and the algorithms.
fn parts(forms: &[Form]) -> String {
    let mut needed: Vec<&str> = vec![NUMBERS];
    for form in forms {
        let (_, text, before) = file(*form);
        for part in before.into_iter().chain([text]) {
            if !needed.contains(&part) {
                needed.push(part);
            }
        }
    }
    needed.concat()
}
