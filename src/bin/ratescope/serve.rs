//! `ratescope serve`: the page, to this machine only.

#[path = "serve/lanes.rs"]
mod lanes;

use crate::rules;
use axum::Router;
use axum::http::HeaderValue;
use axum::middleware::map_response;
use axum::response::Response;
use lanes::Lanes;
use ratescope::rules::Rules;
use std::error::Error;
use std::io::{self, ErrorKind, Write};
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use tokio::net::TcpListener;
use tower_http::services::ServeDir;

/// Serve the page at http://127.0.0.1:8080 until Ctrl-C
#[derive(clap::Args)]
pub(crate) struct Args {
    /// The port to listen on; 0 takes any free one
    #[arg(long, default_value_t = 8080)]
    port: u16,

    /// The folder of the page, as ./scripts/build leaves it
    #[arg(long, default_value = "www")]
    dir: PathBuf,

    /// Print a link to Compare that shows each rule of this file as a lane
    #[arg(long, value_name = "RULES")]
    rules: Vec<PathBuf>,
}

/// Sent with every response, errors too.
const HEADERS: [(&str, &str); 6] = [
    // The page loads nothing but its own files, and runs no script but those.
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; \
         img-src 'self' data:; connect-src 'self'; worker-src 'self'",
    ),
    // Cross-origin isolation: without it browsers make performance.now() 0.1 ms coarse.
    ("cross-origin-opener-policy", "same-origin"),
    ("cross-origin-embedder-policy", "require-corp"),
    ("x-content-type-options", "nosniff"),
    // Browsers ask each time whether a file changed, so that a rebuilt page is seen on reload.
    ("cache-control", "no-cache"),
    ("referrer-policy", "no-referrer"),
];

/// Serves until Ctrl-C.
pub(crate) fn run(args: &Args) -> Result<(), Box<dyn Error>> {
    check_built(&args.dir)?;
    let read = |path: &PathBuf| rules::read(path);
    let files = args.rules.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()?
        .block_on(serve(args, &files))
}

/// The page cannot work without its modules, so the absence of one is said here and not in the
/// browser.
fn check_built(dir: &Path) -> Result<(), String> {
    let modules = ["pkg/ratescope_bg.wasm", "pkg/tuner_bg.wasm"].map(|module| dir.join(module));
    match modules.iter().find(|module| !module.is_file()) {
        None => Ok(()),
        Some(module) => {
            Err(format!("{} is missing: build the page with ./scripts/build", module.display()))
        }
    }
}

async fn serve(args: &Args, files: &[Rules]) -> Result<(), Box<dyn Error>> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, args.port)).await.map_err(|error| {
        let reason = match error.kind() {
            ErrorKind::AddrInUse => "it is in use".to_owned(),
            _ => error.to_string(),
        };
        format!("cannot listen on port {}: {reason}; choose another with --port", args.port)
    })?;
    let address = listener.local_addr()?;
    let mut out = io::stdout();
    writeln!(out, "Ratescope is at http://{address} (Ctrl-C stops it)")?;
    for file in files {
        let Lanes { link, missing } = Lanes::new(file);
        if let Some(link) = link {
            writeln!(out, "{}, a lane each: http://{address}/compare.html#{link}", file.file())?;
        }
        for rule in missing {
            writeln!(out, "  not shown: {rule}")?;
        }
    }

    let app =
        Router::new().fallback_service(ServeDir::new(&args.dir)).layer(map_response(add_headers));
    axum::serve(listener, app).with_graceful_shutdown(ctrl_c()).await?;
    Ok(())
}

async fn add_headers(mut response: Response) -> Response {
    for (name, value) in HEADERS {
        response.headers_mut().insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn ctrl_c() {
    // An error means that Ctrl-C cannot be caught: it then ends the program by itself.
    if tokio::signal::ctrl_c().await.is_err() {
        std::future::pending().await
    }
}
