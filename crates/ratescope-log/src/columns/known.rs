//! The layouts of servers.

use crate::layout::{Certainty, Layout};
use std::sync::{Arc, LazyLock};

/// The name of each layout, and its columns in the notation of nginx. `ip`, `time` and so on are the standard
/// fields.
///
/// Sources: HAProxy's manual, "HTTP log format" and "TCP log format"; Envoy, "Access logging", default
/// format; Istio, "Envoy access logs"; Squid, logformat `squid`; AWS, "Access logs" of Application, Network and
/// Classic Load Balancers; nginx, ngx_http_limit_req_module; nginx-proxy-manager, `log-proxy.conf`, and NPMplus, `nginx.conf`; Microsoft, "W3C
/// Logging", the fields that IIS logs by default, since its header may be cut off.
const KNOWN: [(&str, &str); 15] = [
    (
        "HAProxy's httplog",
        "$ip:$client_port [$time] $frontend $backend/$server $timers $status $bytes $request_cookie \
         $response_cookie $flags $connections $queue $captures\"$request\"",
    ),
    (
        "HAProxy's tcplog",
        "$ip:$client_port [$time] $frontend $backend/$server $timers $bytes $flags $connections $queue",
    ),
    (
        "Envoy's access log",
        "[$time] \"$request\" $status $flags $bytes_received $bytes $duration $upstream_time \
         \"$forwarded\" \"$agent\" \"$request_id\" \"$host\" \"$upstream\"",
    ),
    (
        "Istio's access log",
        "[$time] \"$request\" $status $flags $details $ended \"$failure\" $bytes_received $bytes $duration \
         $upstream_time \"$forwarded\" \"$agent\" \"$request_id\" \"$host\" \"$upstream\" $cluster \
         $upstream_local $local $ip:$client_port $requested $route",
    ),
    (
        "Squid's access log",
        "$time  $duration $ip $result/$status $bytes $method $path $user $hierarchy/$server $type",
    ),
    (
        "the access log of AWS ALB",
        "$type $time $elb $ip:$client_port $target $waited $worked $answered $status $target_status \
         $bytes_received $bytes \"$request\" \"$agent\" $rest",
    ),
    (
        "the access log of AWS NLB",
        "tls $version $time $elb $listener $ip:$client_port $target $duration $handshake $bytes_received $bytes $rest",
    ),
    (
        "the access log of AWS Classic Load Balancers",
        "$time $elb $ip:$client_port $target $waited $worked $answered $status $target_status $bytes_received $bytes \
         \"$request\" \"$agent\" $rest",
    ),
    (
        "the access log of AWS Classic Load Balancers",
        "$time $elb $ip:$client_port $target $waited $worked $answered $status $target_status $bytes_received $bytes \
         \"$request\"",
    ),
    (
        NPM,
        "[$time] $cache $upstream_status $status - $method $scheme $host \"$path\" [Client $ip] [Length $bytes] \
         [Gzip $gzip] [Sent-to $server] \"$agent\" \"$referer\"",
    ),
    (
        NPM_PLUS,
        "[$time] $host $ip $duration \"$request\" $status $bytes $bytes_sent $referer $agent",
    ),
    (
        IIS,
        "$time $s_ip $method $path $query $s_port $user $ip $agent $referer $status $substatus $win32_status $duration",
    ),
    (
        IIS,
        "$time $s_ip $method $path $query $s_port $user $ip $agent $status $substatus $win32_status $duration",
    ),
    (
        IIS,
        "$time $s_sitename $s_ip $method $path $query $s_port $user $ip $agent $status $substatus $win32_status",
    ),
    (
        "nginx's error log: requests over a limit",
        "$time [$level] $process: *$connection limiting requests$kind excess: $excess by zone \"$zone\", \
         client: $ip, server: $server, request: \"$request\"$rest",
    ),
];

pub(super) const IIS: &str = "the access log of IIS, without its header";

/// The name of the program ends its lines, and may have spaces.
const NPM_PLUS: &str = "NPMplus's access log";

/// The log of a proxy host, in which requests for other hosts have other columns.
const NPM: &str = "nginx-proxy-manager's access log";
const NPM_STANDARD: &str = "[$time] $status - $method $scheme $host \"$path\" [Client $ip] [Length $bytes] [Gzip $gzip] \
                            \"$agent\" \"$referer\"";

/// All known layouts, parsed once.
pub(super) fn known() -> &'static [Arc<Layout>] {
    static ALL: LazyLock<Vec<Arc<Layout>>> = LazyLock::new(|| {
        let layout = |(about, text): (&str, &str)| {
            let mut layout = text.parse::<Layout>().ok()?.called(about);
            layout.is_exact = !text.ends_with("$rest") && about != NPM_PLUS;
            layout.other =
                if about == NPM { NPM_STANDARD.parse().ok().map(Arc::new) } else { None };
            // Other lines of an error log have other texts.
            layout.certainty =
                if about.contains("error log") { Certainty::Sure } else { Certainty::Known };
            Some(Arc::new(layout))
        };
        KNOWN.into_iter().filter_map(layout).collect()
    });
    &ALL
}
