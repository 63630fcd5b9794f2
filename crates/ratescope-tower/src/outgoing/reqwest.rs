//! The calls of reqwest.

use super::service::Called;
use super::{CallError, Pace};
use async_trait::async_trait;
use http::{Extensions, Uri};
use ratescope::clock::Clock;
use reqwest::{Request, Response};
use reqwest_middleware::{Error, Middleware, Next, Result};

#[async_trait]
impl<C: Clock> Middleware for Pace<C> {
    async fn handle(
        &self,
        request: Request,
        extensions: &mut Extensions,
        next: Next<'_>,
    ) -> Result<Response> {
        let uri: Uri = request.url().as_str().parse().map_err(Error::middleware)?;
        let call = Called::new(request.method(), &uri, request.headers());
        let gave_up = |reason| Error::middleware(CallError::<Error>::GaveUp(reason));
        self.until_allowed(&call).await.map_err(gave_up)?;
        let response = next.run(request, extensions).await?;
        self.heed(&call, response.status(), response.headers());
        Ok(response)
    }
}
