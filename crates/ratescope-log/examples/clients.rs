//! Prints the ten busiest clients of a log, in any format or in the one that is named:
//!
//!     cargo run --package ratescope-log --example clients access.log
//!     cargo run --package ratescope-log --example clients log.csv csv

use ratescope_log::{Log, Options, unpack};
use std::collections::HashMap;
use std::error::Error;
use std::fs::File;

fn main() -> Result<(), Box<dyn Error>> {
    let mut args = std::env::args().skip(1);
    let path = args.next().ok_or("name a log")?;
    let format = args.next().map(|name| name.parse()).transpose()?;
    let options = Options { format, ..Options::default() };
    let mut log = Log::open(unpack(File::open(path)?)?, &options)?;
    println!("{}", log.shape());

    let key = log.shape().key(&options);
    let field = key.fields().first().cloned().unwrap_or_default();
    let mut clients: HashMap<String, u64> = HashMap::new();
    while log.read(&mut |record| {
        let client = record.value(&field).unwrap_or("nobody");
        *clients.entry(client.to_owned()).or_default() += u64::from(record.times());
    })? {}

    let mut clients: Vec<_> = clients.into_iter().collect();
    clients.sort_by(|(one, n), (other, m)| m.cmp(n).then(one.cmp(other)));
    for (client, count) in clients.iter().take(10) {
        println!("{count:8} {} from {client}", log.shape().events(&options.filter));
    }
    for problem in &log.counts().problems {
        println!("{problem}");
    }
    Ok(())
}
