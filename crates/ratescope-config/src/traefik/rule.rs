//! The rules of routers, which say whom a middleware is for.

use crate::only::{VALUES, network};
use crate::read::{DEEPEST, scoped};
use crate::{Is, Only, Test};

/// The requests that one of these rules is for. (A longer rule of another router may take some of them.)
pub(super) fn rule(rules: &[&str]) -> Only {
    let tests = rules.iter().take(VALUES + 1).map(|rule| Rule::read(rule));
    let tests = tests.collect::<Option<Vec<_>>>().filter(|tests| tests.len() <= VALUES);
    let words = scoped(rules, " || ").unwrap_or_default();
    Only::of(tests.map(Test::any), &words)
}

/// A rule of a router, as in ``Host(`a.example`) && PathPrefix(`/api`)``.
struct Rule<'a> {
    rest: &'a str,
    depth: usize,
}

impl<'a> Rule<'a> {
    /// The rule as a test; `None` if no field of a log tells.
    pub(super) fn read(text: &'a str) -> Option<Test> {
        let mut rule = Rule { rest: text, depth: 0 };
        let test = rule.any()?;
        rule.rest.trim().is_empty().then_some(test)
    }

    fn takes(&mut self, sign: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(sign);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    pub(super) fn any(&mut self) -> Option<Test> {
        let mut any = vec![self.all()?];
        while self.takes("||") {
            any.push(self.all()?);
        }
        Some(Test::any(any))
    }

    pub(super) fn all(&mut self) -> Option<Test> {
        let mut all = vec![self.one()?];
        while self.takes("&&") {
            all.push(self.one()?);
        }
        Some(Test::all(all))
    }

    fn one(&mut self) -> Option<Test> {
        self.depth += 1;
        let test = if self.depth > DEEPEST {
            None
        } else if self.takes("!") {
            self.one().map(Test::not)
        } else if self.takes("(") {
            self.any().filter(|_| self.takes(")"))
        } else {
            self.call()
        };
        self.depth -= 1;
        test
    }

    fn call(&mut self) -> Option<Test> {
        let (name, rest) = self.rest.split_once('(')?;
        self.rest = rest;
        let mut values = Vec::new();
        loop {
            let rest = self.rest.trim_start();
            let quote = rest.chars().next().filter(|c| ['`', '"', '\''].contains(c))?;
            let (value, rest) = rest.get(1..)?.split_once(quote)?;
            values.push(value);
            self.rest = rest;
            if self.takes(")") {
                break;
            }
            if !self.takes(",") {
                return None;
            }
        }
        let field = |name: &str, is: fn(String) -> Is| {
            // In Traefik 2, braces begin a variable.
            let plain = |value: &&str| (!value.contains('{')).then(|| is((*value).to_owned()));
            Test::one_of(name, &values, plain)
        };
        match name.trim() {
            "Host" => field("host", Is::Exactly),
            "Path" => field("path", Is::Exactly),
            "PathPrefix" => field("path", Is::Begins),
            "PathRegexp" => field("path", Is::Like),
            "HostRegexp" => field("host", |value| Is::Like(format!("(?i){value}"))),
            "Method" => field("method", Is::Exactly),
            "ClientIP" => Test::one_of("ip", &values, |value| network(value)),
            _ => None,
        }
    }
}
