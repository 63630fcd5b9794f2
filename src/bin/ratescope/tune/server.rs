//! The recommendation for a server, by its own arithmetic, and its configuration.

use super::answer::curves;
use ratescope::lab::tune::{
    Aim, Choices, Clients, Curve, Cut, Frontier, LogClock, ReadOptions, Replay, advise, network,
};
use ratescope::policy::Per;
use ratescope::policy::export::Target;
use ratescope::{ParseError, Span};

/// What a server should be told.
pub(crate) struct Server {
    pub(crate) target: Target,
    /// The recommended limiter over all events; none where no limit leaves enough clients alone.
    pub(crate) replay: Option<Replay>,
    /// What to paste, and what one should know about it; or why it cannot be written.
    pub(crate) configuration: Result<(String, Vec<String>), String>,
}

impl Server {
    /// The one for the clients that `per` makes, of whom some curves are `known`.
    pub(crate) fn new(
        target: Target,
        reading: &ReadOptions,
        period: Span,
        aim: &Aim,
        (clients, per, clock): (&Clients, &Per, &LogClock),
        (frontier, known, cut): (&Frontier, &[&Curve], &Cut),
    ) -> Result<Self, ParseError> {
        let mut choices = Choices { reading: reading.clone(), aim: *aim, ..Choices::default() };
        choices.set("for", &target.to_string())?;
        choices.set("period", &period.to_string())?;
        let recommended = choices.measure(Some(frontier)).and_then(|measure| {
            let is_it = |curve: &&&Curve| curve.measure == measure;
            let advice = match known.iter().find(is_it) {
                Some(curve) => advise(curve, aim),
                None => advise(curves(clients, &[measure], cut).first()?, aim),
            };
            choices.limiter(measure, advice.limit?)
        });
        let none = || Err("no limit that it has leaves so many clients alone".to_owned());
        let configure = |limiter| choices.configure(limiter, per, network(clients));
        let configuration = recommended.as_ref().map_or_else(none, configure);
        let replay = recommended.map(|limiter| Replay::run(clients, limiter, clock));
        Ok(Server { target, replay, configuration })
    }
}
