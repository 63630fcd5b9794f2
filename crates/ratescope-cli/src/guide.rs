//! `ratescope guide`: the manual for operators, a page a topic.

use crate::terminal::{Visible, until_closed};
use std::error::Error;
use std::io::{self, Write};

/// Print a page of the manual for those who run the service; without a topic, the first ten minutes
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The topic
    #[arg(value_enum)]
    topic: Option<Topic>,
}

macro_rules! topics {
    ($($topic:ident $file:literal,)*) => {
        #[derive(Clone, Copy, clap::ValueEnum)]
        enum Topic {
            $($topic,)*
        }

        impl Topic {
            fn text(self) -> &'static str {
                match self {
                    $(Topic::$topic => include_str!(concat!("../docs/", $file, ".md")),)*
                }
            }
        }
    };
}

topics! {
    Start "start",
    Rules "rules",
    Endpoints "endpoints",
    Metrics "metrics",
    Redis "redis",
    Kubernetes "kubernetes",
    Sizing "sizing",
    Outages "outages",
    Upgrade "upgrade",
    Migrating "migrating",
}

pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    let text = args.topic.unwrap_or(Topic::Start).text();
    until_closed(write!(Visible(io::stdout()), "{text}"))
}
