//! nginx: `limit_req_zone` and `limit_req`.
//!
//! Source: nginx, "Module ngx_http_limit_req_module", and its source; for [`ratescope::limit::nginx`] there is more. nginx
//! asks several `limit_req` of one place first and then counts in all or in none, as a policy does. Values are constants
//! there, except the key.

mod place;
mod read;
mod write;
mod zone;

pub(crate) use read::read;
pub(crate) use write::write;

use crate::words::has;
use crate::write::Names;

pub(crate) const NAMES: Names = Names { name: "nginx", title: "nginx", file: "nginx.conf" };

pub(crate) fn is_known(text: &str) -> bool {
    has(text, &["#"], "limit_req_zone") || has(text, &["#"], "limit_req zone=")
}
