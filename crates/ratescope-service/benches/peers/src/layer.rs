//! The layer on one connection and on many: `./scripts/bench scale layer`.
//!
//! A service of axum answers a constant, and beside it the same with the layer, one limit for addresses and all
//! headers. h2load asks both by HTTP/1, in turn in each round, from the other processor.

use crate::program::{Load, Program};
use crate::{Seen, median};
use std::error::Error;
use std::path::Path;

const CONNECTIONS: [usize; 5] = [1, 8, 64, 512, 4096];

pub fn print(rounds: usize, seconds: &str, folder: &Path) -> Result<(), Box<dyn Error>> {
    let [bare, limited] = [Program::peer(&["constant"])?, Program::peer(&["layer"])?];
    println!(
        "| connections | requests/s | with the layer | of it | processor | with the layer | more |"
    );
    println!("|--:|--:|--:|--:|--:|--:|--:|");
    for connections in CONNECTIONS {
        let load = |program: &Program| Load::http(folder, program.http, 1, connections);
        let loads = [load(&bare)?, load(&limited)?];
        let mut seen: Vec<[Seen; 2]> = Vec::new();
        for _ in 0..rounds {
            seen.push([loads[0].run(&bare, seconds)?, loads[1].run(&limited, seconds)?]);
        }
        let of = |what: fn(&[Seen; 2]) -> f64| median(seen.iter().map(what));
        println!(
            "| {connections} | {:.0} | {:.0} | {:.2} | {:.2} µs | {:.2} µs | {:.2} µs |",
            of(|[bare, _]| bare.rate),
            of(|[_, limited]| limited.rate),
            of(|[bare, limited]| limited.rate / bare.rate),
            of(|[bare, _]| bare.cost),
            of(|[_, limited]| limited.cost),
            of(|[bare, limited]| limited.cost - bare.cost),
        );
    }
    Ok(())
}
