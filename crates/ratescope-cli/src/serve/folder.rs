//! The files of a folder, without hidden ones and without links that lead out of it.

use hyper::{Request, Response};
use percent_encoding::percent_decode_str;
use std::io;
use std::path::{Path, PathBuf};
use tower_http::services::ServeDir;
use tower_http::services::fs::ServeFileSystemResponseBody;

/// A folder whose files are served.
#[derive(Clone)]
pub(super) struct Folder {
    /// The path, without symbolic links.
    root: PathBuf,
    files: ServeDir,
}

impl Folder {
    pub(super) fn new(dir: &Path) -> io::Result<Self> {
        let root = dir.canonicalize()?;
        Ok(Folder { files: ServeDir::new(&root).precompressed_br(), root })
    }

    /// Answers with the file at the request's path; `None` if it may not be served.
    pub(super) async fn answer<B>(
        &mut self,
        request: Request<B>,
    ) -> Option<io::Result<Response<ServeFileSystemResponseBody>>>
    where
        B: Send + 'static,
    {
        if self.is_inside(request.uri().path()).await {
            Some(self.files.try_call(request).await)
        } else {
            None
        }
    }

    /// Makes sure that a path leads to something in the folder that exists and is not hidden. Symbolic links are
    /// resolved first, since they may lead out of the folder.
    async fn is_inside(&self, path: &str) -> bool {
        let Ok(path) = percent_decode_str(path).decode_utf8() else { return false };
        let mut file = self.root.clone();
        for name in path.split('/').filter(|name| !name.is_empty()) {
            if name.starts_with('.') || name.contains(['\\', '\0']) {
                return false;
            }
            file.push(name);
        }
        if path.ends_with('/') {
            file.push("index.html");
        }
        // A compressed file would be sent in place of this one, so it has to be inside, too.
        let mut packed = file.clone().into_os_string();
        packed.push(".br");
        let packed = tokio::fs::canonicalize(packed).await;
        let Ok(found) = tokio::fs::canonicalize(file).await else { return false };
        for path in packed.iter().chain([&found]) {
            // Opening anything else, such as a pipe, may block for ever.
            let kind = tokio::fs::metadata(path).await;
            if !path.starts_with(&self.root)
                || !kind.is_ok_and(|kind| kind.is_file() || kind.is_dir())
            {
                return false;
            }
        }
        true
    }
}
