//! `ratescope serve`: the page, to this machine only.

mod folder;
mod lanes;
mod site;

use crate::rules;
use crate::server::{self, Settings};
use crate::terminal::say;
use hyper_util::server::graceful::GracefulShutdown;
use lanes::Lanes;
use ratescope::Span;
use ratescope::rules::Rules;
use ratescope_live::page;
use site::Site;
use std::error::Error;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// Serve the page at http://127.0.0.1:8080 until Ctrl-C
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    port: u16,

    /// Serve the page from this folder, made by ./scripts/build, in place of the page inside this program
    #[arg(long)]
    dir: Option<PathBuf>,

    /// Print a link to Compare that shows each rule of this file as a lane
    #[arg(long, value_name = "RULES")]
    rules: Vec<PathBuf>,

    /// How long requests may go on after Ctrl-C; a second Ctrl-C ends them
    #[arg(long, value_name = "SPAN", default_value = "2s")]
    drain: Span,
}

/// Serves until Ctrl-C.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    check_built(args.dir.as_deref())?;
    let files = args.rules.iter().map(|path| rules::read(path)).collect::<Result<Vec<_>, _>>()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let served = runtime.block_on(serve(args, &files));
    // Does not wait for a file on a network that hangs.
    runtime.shutdown_background();
    served
}

/// Checks that the page has its WebAssembly module. Without it a browser would show an empty page.
fn check_built(dir: Option<&Path>) -> Result<(), String> {
    let Some(dir) = dir else {
        if page::is_built() {
            return Ok(());
        }
        return Err("this program was built without the page: run ./scripts/build and build it again, or name the \
                    folder of the page with --dir"
            .to_owned());
    };
    let module = dir.join(page::MODULE);
    if !module.is_file() {
        return Err(format!(
            "{} is missing: build the page with ./scripts/build",
            module.display()
        ));
    }
    Ok(())
}

async fn serve(args: &Args, files: &[Rules]) -> Result<(), Box<dyn Error>> {
    let at = SocketAddr::from((Ipv4Addr::LOCALHOST, args.port));
    let listener = server::listen(at, "--port").await?;
    let address = listener.local_addr()?;
    let mut signal = server::catch_signals()?;
    let mut lines = vec![format!("Ratescope is at http://{address} (Ctrl-C stops it)")];
    for file in files {
        let Lanes { link, missing } = Lanes::new(file);
        if let Some(link) = link {
            let at = format!("http://{address}/compare.html#{link}");
            lines.push(format!("{}, a lane each: {at}", file.file()));
        }
        lines.extend(missing.iter().map(|rule| format!("  not shown: {rule}")));
    }
    server::announce(&lines.join("\n"), say);

    let site = Site::new(args.dir.as_deref(), address.port())?;
    let drain = Duration::try_from(args.drain).unwrap_or(Duration::MAX);
    let open = GracefulShutdown::new();
    let answer = move |request, _| site.clone().answer(request);
    let mut http = server::http(server::HEAD);
    // A client that closes its half of the connection after its requests still gets its answers.
    http.half_close(true);
    let [room, _] = server::rooms();
    let settings = Settings::new(room, say);
    tokio::select! {
        () = server::accept_http(&listener, &open, http, settings, answer) => {}
        () = signal() => {}
    }
    drop(listener);
    server::end(open, Duration::ZERO, async {}, drain, signal).await;
    Ok(())
}
