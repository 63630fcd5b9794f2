//! Exceptions: for a while, a key has other numbers than the rules say.

use super::store::pass_on_all_else;
use super::{
    BoxFuture, Decisions, Details, Fault, Numbers, Part, Rules, RulesError, Store, StoredKey,
};
use crate::limit::any::AnyLimiter;
use crate::policy::key::escaped;
use crate::rate::Rate;
use crate::text::ParseError;
use crate::time::Time;
use arc_swap::{ArcSwap, Guard};
use core::fmt;
use core::str::FromStr;
use percent_encoding::percent_decode_str;
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};

/// The most exceptions of a store.
const MOST: usize = 1000;

/// The limiter of one key in one limit until some time. The text form is a line, as in
/// `1764590400000000 web:user user=ann by=robot fixed-window 500/1m`, with the time in microseconds.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Exception {
    /// The [name](Rules::limit_names) of the limit.
    pub limit: String,
    /// The key, as [`StoredKey::subject`] has it.
    pub subject: String,
    /// The limiter in place of that of the rules.
    pub limiter: AnyLimiter,
    /// When the rules decide again.
    pub until: Time,
    /// Who asked for it; may be empty.
    pub by: String,
}

impl Exception {
    /// An exception for a key in the limit of this name. The text is a limiter, or a rate alone, as in `500/1m`, which then
    /// replaces the rate of the limit; all else, such as a burst that is written there, stays.
    ///
    /// # Errors
    /// If there is no such limit, if the text is wrong, or if the limiter has states of another
    /// [shape](crate::limit::kept) than that of the limit.
    pub fn new(
        rules: &Arc<Rules>,
        limit: &str,
        subject: &str,
        text: &str,
        until: Time,
    ) -> Result<Self, RulesError> {
        let named = rules.plan().iter().find(|planned| planned.name == limit);
        let usual = named.ok_or_else(|| rules.wrong(format!("there is no limit {limit}")))?;
        let limiter = instead(&usual.limit.limiter, text);
        let limiter = limiter.map_err(|error| rules.wrong(error.to_string()))?;
        Numbers::new(rules, |name| (name == limit).then(|| limiter.clone()))?;
        let (limit, subject) = (limit.to_owned(), subject.to_owned());
        Ok(Exception { limit, subject, limiter, until, by: String::new() })
    }

    /// This exception, asked for by somebody.
    #[must_use]
    pub fn by(self, who: &str) -> Self {
        Exception { by: who.to_owned(), ..self }
    }

    /// True from its end on.
    pub fn is_over(&self, now: Time) -> bool {
        self.until <= now
    }

    /// True if both are about the same key in the same limit.
    pub fn replaces(&self, other: &Self) -> bool {
        self.limit == other.limit && self.subject == other.subject
    }
}

/// The limiter of a text. A rate alone replaces the rate of `usual`, and its burst or queue if that is the count, which is
/// the default of buckets.
fn instead(usual: &AnyLimiter, text: &str) -> Result<AnyLimiter, ParseError> {
    let written = usual.to_string();
    let rate = written.split(' ').find_map(|word| Some((word, word.parse::<Rate>().ok()?)));
    let Some((word, rate)) = rate.filter(|_| text.parse::<Rate>().is_ok()) else {
        return text.parse();
    };
    let default = format!(" {} {}", usual.size_word(), rate.count());
    // Of nginx, the default is no burst.
    let is_nginx = matches!(usual, AnyLimiter::Nginx(_));
    let rest = written.strip_suffix(&default).filter(|_| !is_nginx).unwrap_or(&written);
    rest.replacen(word, text, 1).parse()
}

impl fmt::Display for Exception {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Exception { limit, subject, limiter, until, by } = self;
        let [limit, subject, by] = [limit, subject, by].map(|text| escaped(text));
        write!(f, "{} {limit} {subject} by={by} {limiter}", until.as_micros())
    }
}

impl FromStr for Exception {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let wrong = || ParseError::whole(text, "not an exception");
        let mut words = text.splitn(5, ' ');
        let mut word = || words.next().ok_or_else(wrong);
        let (until, limit, subject, by, limiter) = (word()?, word()?, word()?, word()?, word()?);
        let read = |word: &str| {
            let read = percent_decode_str(word).decode_utf8().map_err(|_| wrong())?;
            Ok::<_, ParseError>(read.into_owned())
        };
        Ok(Exception {
            limit: read(limit)?,
            subject: read(subject)?,
            limiter: limiter.parse()?,
            until: Time::from_micros(until.parse().map_err(|_| wrong())?),
            by: read(by.strip_prefix("by=").ok_or_else(wrong)?)?,
        })
    }
}

/// A store with exceptions. Where the states are shared, as on Redis, the exceptions are kept there, too, and
/// [`refresh`](Self::refresh) takes over those of other processes; otherwise they are kept here. A clone is the same store.
///
/// ```
/// use ratescope::rules::{Details, Exception, Exceptions, MemoryStore, Part, Store};
/// use ratescope::{Event, Policy, Span, Time};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() -> Result<(), Box<dyn std::error::Error>> {
/// let policy: Policy = "gcra 2/1h per user as calls".parse()?;
/// let store = Exceptions::new(MemoryStore::new(policy, 100_000));
/// let now = Time::ZERO;
/// let until = now.after(Span::from_hours(24));
/// let more = Exception::new(&store.rules(), "calls", "user=ann", "5/1h", until)?;
/// store.set(more.by("the support"), now).await?;
///
/// let pass = |user, time| {
///     let event = Event { time, cost: 1.0, fields: &[("user", user)] };
///     let parts = [Part::count(&event)];
///     store.decide_now(&parts, Details::default()).is_some_and(|one| one[0].is_allowed())
/// };
/// assert_eq!([0; 6].map(|_| pass("ann", now)), [true, true, true, true, true, false]);
/// assert_eq!([0; 3].map(|_| pass("bob", now)), [true, true, false]);
/// // A day later it has ended by itself.
/// assert_eq!([0; 3].map(|_| pass("ann", until)), [true, true, false]);
/// # Ok(())
/// # }
/// ```
#[derive(Clone, Debug)]
pub struct Exceptions<S> {
    store: S,
    table: Arc<ArcSwap<Table>>,
    /// Held while the table is replaced.
    changing: Arc<Mutex<()>>,
}

/// The exceptions, prepared for the rules in force.
#[derive(Debug)]
struct Table {
    rules: Arc<Rules>,
    all: Vec<Exception>,
    /// The numbers of each key, and when they end, by the index of the limit in the plan. An exception that does not fit
    /// the rules in force is left out.
    of_limits: HashMap<usize, HashMap<String, (Numbers, Time)>>,
}

impl Table {
    fn new(rules: Arc<Rules>, all: Vec<Exception>) -> Self {
        let mut of_limits: HashMap<usize, HashMap<String, (Numbers, Time)>> = HashMap::new();
        for Exception { limit, subject, limiter, until, .. } in &all {
            let at = rules.plan().iter().position(|planned| planned.name == *limit);
            let numbers = Numbers::new(&rules, |name| (name == limit).then(|| limiter.clone()));
            if let (Some(at), Ok(numbers)) = (at, numbers) {
                let of_limit = of_limits.entry(at).or_default();
                of_limit.insert(subject.clone(), (numbers, *until));
            }
        }
        Table { rules, all, of_limits }
    }

    /// The numbers of a part: those of all exceptions for its keys, and its own in other limits.
    fn numbers(&self, part: &Part<'_>) -> Option<Numbers> {
        let mut found: Option<Numbers> = None;
        for ask in &self.rules.ask(part.event, None) {
            let Some(of_limit) = self.of_limits.get(&ask.at) else { continue };
            let Some(planned) = self.rules.plan().get(ask.at) else { continue };
            let key = StoredKey::subject_of(&planned.limit.per, part.event);
            if let Some((numbers, until)) = of_limit.get(&key)
                && part.now() < *until
            {
                found = Some(found.map_or_else(|| numbers.clone(), |so_far| so_far.and(numbers)));
            }
        }
        let found = found?;
        Some(match part.numbers {
            Some(own) => found.and(&own.in_force(&self.rules)),
            None => found,
        })
    }
}

impl<S: Store> Exceptions<S> {
    /// A store without exceptions.
    pub fn new(store: S) -> Self {
        let table = Table::new(store.rules(), Vec::new());
        Exceptions {
            store,
            table: Arc::new(ArcSwap::from_pointee(table)),
            changing: Arc::default(),
        }
    }

    /// The store that decides.
    pub fn store(&self) -> &S {
        &self.store
    }

    /// The exceptions that are not over, in the order of their ends.
    pub fn list(&self, now: Time) -> Vec<Exception> {
        let mut all = self.table.load().all.clone();
        all.retain(|one| !one.is_over(now));
        all.sort_by(|a, b| (a.until, &a.limit, &a.subject).cmp(&(b.until, &b.limit, &b.subject)));
        all
    }

    /// Adds an exception, or replaces that of the same key in the same limit. One that [is over](Exception::is_over) at
    /// `now` ends the other.
    ///
    /// # Errors
    /// If there are 1000 already, or the store keeps exceptions and can't be asked.
    pub async fn set(&self, exception: Exception, now: Time) -> Result<(), Fault> {
        if let Some(kept) = self.store.exceptions(Some((&exception, now))).await? {
            self.put(|_| kept);
            return Ok(());
        }
        let mut is_full = false;
        self.put(|mut all| {
            is_full = !changed(&mut all, &exception, now);
            all
        });
        if is_full { Err(too_many()) } else { Ok(()) }
    }

    /// Takes over the exceptions that other processes have set, and forgets those that are over; returns the latter. Call
    /// it every second or so.
    ///
    /// # Errors
    /// If the store keeps exceptions and can't be asked. The known ones stay in force.
    pub async fn refresh(&self, now: Time) -> Result<Vec<Exception>, Fault> {
        let kept = self.store.exceptions(None).await;
        let mut over = Vec::new();
        let known = kept.as_ref().ok().cloned().flatten();
        let is_known = |all: &[Exception]| known.as_ref().is_none_or(|known| known == all);
        let table = self.table.load();
        if is_known(&table.all) && !table.all.iter().any(|one| one.is_over(now)) {
            return kept.map(|_| over);
        }
        self.put(|all| {
            over = all.iter().filter(|one| one.is_over(now)).cloned().collect();
            let mut all = known.unwrap_or(all);
            all.retain(|one| !one.is_over(now));
            all
        });
        kept.map(|_| over)
    }

    /// Puts these in place of all exceptions, as at a start.
    pub fn restore(&self, mut all: Vec<Exception>) {
        all.truncate(MOST);
        self.put(|_| all);
    }

    fn put(&self, change: impl FnOnce(Vec<Exception>) -> Vec<Exception>) {
        let _alone = self.changing.lock().unwrap_or_else(PoisonError::into_inner);
        let all = change(self.table.load().all.clone());
        self.table.store(Arc::new(Table::new(self.store.rules(), all)));
    }

    /// The table for the rules in force; `None` without exceptions.
    fn table(&self) -> Option<Guard<Arc<Table>>> {
        let table = self.table.load();
        if table.all.is_empty() {
            return None;
        }
        if Arc::ptr_eq(&table.rules, &self.store.rules()) {
            return Some(table);
        }
        // After a reload.
        self.put(|all| all);
        Some(self.table.load())
    }

    /// The numbers of each part; `None` if no part has an exception.
    fn numbers(&self, parts: &[Part<'_>]) -> Option<Vec<Option<Numbers>>> {
        let table = self.table()?;
        let each: Vec<_> = parts.iter().map(|part| table.numbers(part)).collect();
        each.iter().any(Option::is_some).then_some(each)
    }
}

/// The parts with these numbers, if they have any.
fn with<'a>(parts: &[Part<'a>], numbers: &'a [Option<Numbers>]) -> Vec<Part<'a>> {
    let each = parts.iter().zip(numbers);
    each.map(|(part, own)| Part { numbers: own.as_ref().or(part.numbers), ..*part }).collect()
}

/// Makes a change to the exceptions of a store, and leaves out those that are over. Returns false if there is no room.
pub fn changed(all: &mut Vec<Exception>, exception: &Exception, now: Time) -> bool {
    all.retain(|one| !one.is_over(now) && !one.replaces(exception));
    if exception.is_over(now) {
        return true;
    }
    let has_room = all.len() < MOST;
    if has_room {
        all.push(exception.clone());
    }
    has_room
}

/// The error where there is no room.
pub fn too_many() -> Fault {
    Fault::Failed(format!("there are {MOST} exceptions already; end some of them"))
}

impl<S: Store> Store for Exceptions<S> {
    pass_on_all_else!(self => self.store);

    fn decide<'a>(&'a self, parts: &'a [Part<'a>], details: Details) -> BoxFuture<'a, Decisions> {
        match self.numbers(parts) {
            None => self.store.decide(parts, details),
            Some(numbers) => Box::pin(async move {
                let parts = with(parts, &numbers);
                self.store.decide(&parts, details).await
            }),
        }
    }

    #[inline]
    fn decide_now(&self, parts: &[Part<'_>], details: Details) -> Option<Decisions> {
        match self.numbers(parts) {
            None => self.store.decide_now(parts, details),
            Some(numbers) => self.store.decide_now(&with(parts, &numbers), details),
        }
    }
}
