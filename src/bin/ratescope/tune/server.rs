//! The recommendation for a server, by its own arithmetic, and its configuration.

use super::answer::curves;
use ratescope::lab::tune::{Aim, Choices, Clients, Clock, Curve, Cut, Frontier, Replay, advise};
use ratescope::policy::Per;
use ratescope::policy::export::Target;
use ratescope::{ParseError, Span};
use std::net::Ipv6Addr;

/// What one should know where the clients are networks and those of the server addresses. Those of
/// Rust are what the caller says, and Cloudflare may group addresses itself.
fn networks(target: Target, clients: &Clients) -> Option<String> {
    let is_network = |text: &&str| {
        let address = text.split_once('/').map(|(address, _)| address.parse::<Ipv6Addr>());
        matches!(address, Some(Ok(_)))
    };
    let find = |place| clients.key(place).split(['=', ',']).find(is_network);
    let own = !matches!(target, Target::Rust | Target::Cloudflare);
    let network = (0..clients.len()).filter(|_| own).find_map(find)?;
    Some(format!(
        "an IPv6 network such as {network} is one client above, and each of its addresses one for \
         {target}, so that it has a limit many times over; with --ipv6-prefix 128 addresses are \
         counted as there"
    ))
}

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
        period: Span,
        aim: &Aim,
        (clients, per, clock): (&Clients, &Per, &Clock),
        (frontier, known, cut): (&Frontier, &[&Curve], &Cut),
    ) -> Result<Self, ParseError> {
        let mut choices = Choices { aim: *aim, ..Choices::default() };
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
        let configure = |limiter| {
            let (text, mut notes) = choices.configure(limiter, per)?;
            notes.extend(networks(target, clients));
            Ok((text, notes))
        };
        let configuration = recommended.as_ref().map_or_else(none, configure);
        let replay = recommended.map(|limiter| Replay::run(clients, limiter, clock));
        Ok(Server { target, replay, configuration })
    }
}
