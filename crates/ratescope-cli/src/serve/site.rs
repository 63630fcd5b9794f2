//! The site: the page in this program, or a folder, for browsers on this machine.

use super::folder::Folder;
use http_body_util::Either;
use hyper::body::Bytes;
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::{Request, Response, StatusCode};
use ratescope_live::{self, page};
use std::io;
use std::path::Path;
use tower_http::services::fs::ServeFileSystemResponseBody;

/// A body from a folder, or from this program.
pub(super) type Body = Either<ServeFileSystemResponseBody, ratescope_live::Body>;

/// The files and the port at which they are served.
#[derive(Clone)]
pub(super) struct Site {
    port: u16,
    /// `None` stands for the page in this program.
    folder: Option<Folder>,
}

impl Site {
    pub(super) fn new(dir: Option<&Path>, port: u16) -> io::Result<Self> {
        Ok(Site { port, folder: dir.map(Folder::new).transpose()? })
    }

    /// Answers a request. A file that may not be served is 404, as a missing file is.
    pub(super) async fn answer<B>(mut self, request: Request<B>) -> Response<Body>
    where
        B: Send + 'static,
    {
        let path = request.uri().path().to_owned();
        // Another site could make its name resolve to this machine (DNS rebinding), and so read the folder.
        let mut response = if page::is_local(request.headers(), Some(self.port)) {
            self.found(request).await
        } else {
            refuse(StatusCode::MISDIRECTED_REQUEST)
        };
        page::guard(&path, response.headers_mut());
        response
    }

    async fn found<B: Send + 'static>(&mut self, request: Request<B>) -> Response<Body> {
        let response = match &mut self.folder {
            None => page::file(request.method(), request.uri().path(), request.headers())
                .map(|response| response.map(Either::Right)),
            Some(folder) => match folder.answer(request).await {
                Some(Err(_)) => return refuse(StatusCode::INTERNAL_SERVER_ERROR),
                Some(Ok(response)) => Some(response.map(Either::Left)),
                None => None,
            },
        };
        response.unwrap_or_else(|| refuse(StatusCode::NOT_FOUND))
    }
}

/// A response with this status and an empty body.
fn refuse(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(Either::Right(Bytes::new().into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain"));
    response
}
