//! The keys of clients, for operators: which are busy, refused or full; how full one is; and its reset.

use super::forms::Named;
use super::{Domain, Service};
use core::fmt;
use ratescope::clock::Clock;
use ratescope::event::Event;
use ratescope::policy::Per;
use ratescope::rules::{
    Decision, Details, Exception, Fault, PlannedLimit, Rule, Rules, Store, StoredKey, TopKey, Value,
};
use ratescope::time::Time;
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::sync::Arc;

/// The keys that are listed first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum KeyOrder {
    /// With the most events.
    Busiest,
    /// With the most refused events.
    Refused,
    /// The nearest to their limit, or the farthest above it, at their latest event; of the busiest.
    Fullest,
}

/// The names of fields and their values.
pub type FieldList<'a> = Vec<(Cow<'a, str>, Cow<'a, str>)>;

/// Which key an operator means: its fields, in one domain, and for one rule or for all that count by these fields.
#[derive(Clone, Debug, Default)]
pub struct KeyOf<'a> {
    /// The domain; it can be left out if there is only one.
    pub domain: Option<&'a str>,
    /// The full name of the rule, as in `web:user`, or the name of one of its limits.
    pub rule: Option<&'a str>,
    /// The names of the fields and their values.
    pub fields: FieldList<'a>,
}

/// The name of a limit, and a key there.
type OfLimit = (String, String);

/// Why there is no such key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum NoKey {
    /// There are several domains, and none is named; or there is none of this name.
    Domain,
    /// No rule has this name, or no rule counts by these fields.
    Rule,
    /// Several limits count by these fields: their names.
    Several(Vec<String>),
    /// The limiter of an exception is wrong.
    Limiter(String),
    /// The store can't be asked.
    Store(Fault),
}

impl fmt::Display for NoKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoKey::Domain => f.write_str("name a domain that has rules"),
            NoKey::Rule => f.write_str(
                "no rule counts by these fields; give the fields of the key, as in user=ann, those by which its rule \
                 applies, and its rule if several count by them",
            ),
            NoKey::Several(limits) => write!(
                f,
                "several limits count by these fields; name one of them as the rule: {}",
                limits.join(", ")
            ),
            NoKey::Limiter(why) => f.write_str(why),
            NoKey::Store(fault) => fault.fmt(f),
        }
    }
}

impl core::error::Error for NoKey {}

/// How full a key is.
#[derive(Clone, Debug)]
pub struct KeyState {
    /// The levels at present: the decision about an event of cost 0.
    pub now: Decision,
    /// Whether the next event would pass, and when all is free: the decision about an event of cost 1.
    pub next: Decision,
}

/// A key that was reset: the name of its rule, and the key as logs have it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ResetKey {
    /// The full name of the rule.
    pub rule: String,
    /// The key, with hashes in place of secrets.
    pub key: String,
}

/// The name of a domain, and something there.
pub type OfDomain<T> = (String, T);

impl<C: Clock> Service<C> {
    /// The first `most` keys of all domains, by their events in this process since it began.
    pub fn keys(&self, order: KeyOrder, most: usize) -> Vec<TopKey> {
        let of = |domain: &Arc<Domain>| match order {
            KeyOrder::Busiest => domain.top.busiest(most),
            KeyOrder::Refused => domain.top.most_refused(most),
            KeyOrder::Fullest => domain.top.fullest(most),
        };
        let mut all: Vec<TopKey> = self.domains.load().values().flat_map(of).collect();
        match order {
            KeyOrder::Busiest | KeyOrder::Refused => {
                all.sort_by(|a, b| b.events.cmp(&a.events).then_with(|| a.key.cmp(&b.key)));
            }
            KeyOrder::Fullest => {
                let share = |key: &TopKey| key.outcome.level / key.outcome.limit;
                all.sort_by(|a, b| share(b).total_cmp(&share(a)));
            }
        }
        all.truncate(most);
        all
    }

    /// How full a key is, and when it is free again. With a rule, the event that is asked about has its fields, too.
    /// Nothing is counted.
    ///
    /// # Errors
    /// If there is no such key.
    pub async fn look_at_key(&self, key: &KeyOf<'_>) -> Result<KeyState, NoKey> {
        let domain = self.domain_of(key)?;
        let rules = domain.store.rules();
        let fields = self.fields_of(key, &rules)?;
        let time = self.clock.now();
        let look = async |cost: f64| {
            let fields = Named { fields: &fields, forms: &self.forms };
            let event = Event { time, cost, fields: &fields };
            domain.store.peek_async(&event, Details::ALL.at_once()).await
        };
        let (now, next) = (look(0.0).await, look(1.0).await);
        let is_meant = |one: &Rule| key.rule.is_none_or(|name| one.name() == name);
        let is_known = next.outcomes().any(|one| is_meant(one.rule));
        match &next.fault {
            _ if is_known => Ok(KeyState { now, next }),
            Some(fault) => Err(NoKey::Store(fault.clone())),
            None => Err(NoKey::Rule),
        }
    }

    /// Resets a key in the limits of its rule, or of all rules that count by its fields, as if it had never come; returns
    /// where. A limit `per all` has no fields, so it needs the name of its rule.
    ///
    /// # Errors
    /// If there is no such key. A key that is not remembered is no error.
    pub async fn reset_key(&self, key: &KeyOf<'_>) -> Result<Vec<ResetKey>, NoKey> {
        let domain = self.domain_of(key)?;
        let rules = domain.store.rules();
        let fields = self.fields_of(key, &rules)?;
        let is_given = |field: &String| fields.iter().any(|(name, _)| name == field);
        let of = |rule: &Rule, per: &Per| match key.rule {
            Some(name) => rule.name() == name && per.fields().iter().all(is_given),
            None => !per.fields().is_empty() && per.fields().iter().all(is_given),
        };
        let named = Named { fields: &fields, forms: &self.forms };
        let event = Event { time: self.clock.now(), cost: 0.0, fields: &named };
        let mut meant = BTreeSet::new();
        for rule in rules.rules() {
            for limit in rule.limits().iter().filter(|limit| of(rule, &limit.per)) {
                let rule = rule.name().to_owned();
                meant.insert(ResetKey { rule, key: limit.per.key(&event) });
            }
        }
        if meant.is_empty() {
            return Err(NoKey::Rule);
        }
        domain.store.reset_async(&named, &of).await.map_err(NoKey::Store)?;
        Ok(meant.into_iter().collect())
    }

    /// Lets a key have another limiter until some time: see [`Exception::new`] for its text, and
    /// [`Exceptions`](ratescope::rules::Exceptions). The key counts by one limit; if there are several, its rule or limit
    /// is to be named. `by` says who asks.
    ///
    /// # Errors
    /// If there is no such key, or the text is wrong.
    pub async fn except_key(
        &self,
        key: &KeyOf<'_>,
        text: &str,
        until: Time,
        by: &str,
    ) -> Result<Exception, NoKey> {
        let domain = self.domain_of(key)?;
        let mut limits = self.limits_of(key, &domain)?;
        let (limit, subject) = match (limits.pop(), limits.is_empty()) {
            (Some(only), true) => only,
            (Some(last), false) => {
                limits.push(last);
                return Err(NoKey::Several(limits.into_iter().map(|(limit, _)| limit).collect()));
            }
            (None, _) => return Err(NoKey::Rule),
        };
        let made = Exception::new(&domain.store.rules(), &limit, &subject, text, until);
        let said = |error: ratescope::rules::RulesError| {
            let each = error.mistakes().iter().map(|mistake| mistake.problem().to_owned());
            NoKey::Limiter(each.collect::<Vec<_>>().join("; "))
        };
        let exception = made.map_err(said)?.by(by);
        let set = domain.store.store().set(exception.clone(), self.clock.now()).await;
        set.map_err(NoKey::Store).map(|()| exception)
    }

    /// Ends the exceptions of a key, in the limits of its rule or in all, and returns them.
    ///
    /// # Errors
    /// If there is no such key. A key without exceptions is no error.
    pub async fn end_exceptions(&self, key: &KeyOf<'_>) -> Result<Vec<Exception>, NoKey> {
        let domain = self.domain_of(key)?;
        let limits = self.limits_of(key, &domain)?;
        let (store, now) = (domain.store.store(), self.clock.now());
        let mut ended = store.list(now);
        ended.retain(|one| limits.contains(&(one.limit.clone(), one.subject.clone())));
        for one in &ended {
            let mut over = one.clone();
            over.until = now;
            store.set(over, now).await.map_err(NoKey::Store)?;
        }
        Ok(ended)
    }

    /// The exceptions of all domains that are in force, in the order of their ends in each domain.
    pub fn exceptions(&self) -> Vec<OfDomain<Exception>> {
        let now = self.clock.now();
        let all = self.domains.load();
        let of = |(name, domain): (&String, &Arc<Domain>)| {
            let each = domain.store.store().list(now).into_iter();
            each.map(|one| (name.clone(), one)).collect::<Vec<_>>()
        };
        all.iter().flat_map(of).collect()
    }

    /// Takes over the exceptions that other processes have set on Redis, and returns those that have ended. Call it every
    /// second or so. While Redis can't be asked, the known ones stay in force.
    pub async fn refresh_exceptions(&self) -> Vec<OfDomain<Exception>> {
        let now = self.clock.now();
        let mut over = Vec::new();
        let all = self.domains.load_full();
        for (name, domain) in all.iter() {
            let ended = domain.store.store().refresh(now).await.unwrap_or_default();
            over.extend(ended.into_iter().map(|one| (name.clone(), one)));
        }
        over
    }

    /// The names of the limits that count by the fields of a key, as for a reset, and the subject in each.
    fn limits_of(&self, key: &KeyOf<'_>, domain: &Domain) -> Result<Vec<OfLimit>, NoKey> {
        let rules = domain.store.rules();
        let fields = self.fields_of(key, &rules)?;
        let named = Named { fields: &fields, forms: &self.forms };
        let event = Event { time: self.clock.now(), cost: 0.0, fields: &named };
        let is_given = |field: &String| fields.iter().any(|(name, _)| name == field);
        let is_meant = |planned: &&PlannedLimit| {
            let rule = rules.rules().get(planned.rule);
            let fields = planned.limit.per.fields();
            let is_named = match key.rule {
                Some(name) => planned.name == name || rule.is_some_and(|rule| rule.name() == name),
                None => !fields.is_empty(),
            };
            !planned.is_relaxed && is_named && fields.iter().all(is_given)
        };
        let of = |planned: &PlannedLimit| {
            (planned.name.clone(), StoredKey::subject_of(&planned.limit.per, &event))
        };
        let found: Vec<OfLimit> = rules.plan().iter().filter(is_meant).map(of).collect();
        if found.is_empty() { Err(NoKey::Rule) } else { Ok(found) }
    }

    fn domain_of(&self, key: &KeyOf<'_>) -> Result<Arc<Domain>, NoKey> {
        let domain = match key.domain {
            Some(name) => self.domain(name),
            None => self.only().flatten(),
        };
        domain.ok_or(NoKey::Domain)
    }

    /// The fields in their normal forms, with those that the rule fixes.
    fn fields_of<'a>(&self, key: &'a KeyOf<'_>, rules: &Rules) -> Result<FieldList<'a>, NoKey> {
        let each = key.fields.iter();
        let read = |(name, value): &'a (Cow<'_, str>, Cow<'_, str>)| {
            (Cow::Borrowed(&**name), self.forms.read(name, value))
        };
        let mut fields: FieldList<'a> = each.map(read).collect();
        let Some(name) = key.rule else { return Ok(fields) };
        let limit = rules.plan().iter().find(|planned| planned.name == name);
        let by_limit = || rules.rules().get(limit?.rule);
        let rule = rules.rules().iter().find(|rule| rule.name() == name).or_else(by_limit);
        let rule = rule.ok_or(NoKey::Rule)?;
        for step in rule.path() {
            let is_given = fields.iter().any(|(name, _)| *name == step.key);
            if let Value::Is(value) = &step.value
                && !is_given
            {
                fields.push((Cow::Owned(step.key.clone()), Cow::Owned(value.clone())));
            }
        }
        Ok(fields)
    }
}
