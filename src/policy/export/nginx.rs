//! nginx: `limit_req_zone` and `limit_req`.
//!
//! Source: nginx, "Module ngx_http_limit_req_module", and its source. nginx asks several `limit_req`
//! of one place first and then counts in all or in none, as a policy does.

use super::field::{Field, fields, joined};
use super::{Notes, Written, each};
use crate::limit::any::AnyLimiter;
use crate::limit::nginx::{Delay, Nginx};
use crate::policy::{Limit, Per};
use crate::rate::Rate;
use crate::time::Span;

pub(super) fn write(limits: &[Limit], notes: &mut Notes) -> Written {
    let mut uses = String::new();
    let zones = each(limits, |n, limit| {
        let nginx = own(limit, notes)?;
        let key = key(&limit.per, notes)?;
        warn(&nginx, notes);
        uses += &format!("limit_req zone=limit{n}{};\n", words(&nginx));
        let unit = unit(&nginx);
        let count = nginx.rate().count();
        Ok(format!("limit_req_zone {key} zone=limit{n}:10m rate={count}r/{unit};\n"))
    })?;
    Ok(format!(
        "# In the http block:\n{zones}\n# In a server or location block:\n{uses}limit_req_status 429;\n"
    ))
}

/// The limiter of nginx that decides as the limit does.
fn own(limit: &Limit, notes: &mut Notes) -> Result<Nginx, String> {
    let (rate, size, delay) = match &limit.limiter {
        AnyLimiter::Nginx(nginx) => return Ok(*nginx),
        AnyLimiter::TokenBucket(bucket) => (bucket.rate(), bucket.burst(), Delay::Never),
        AnyLimiter::Gcra(bucket) => (bucket.rate(), bucket.burst(), Delay::Never),
        AnyLimiter::LeakyBucket(bucket) => (bucket.rate(), bucket.queue(), Delay::Beyond(0)),
        _ => {
            let problem =
                "it has a bucket only; write a limit such as nginx 10/1s burst 20 nodelay";
            return Err(problem.to_owned());
        }
    };
    if size < 1.0 || size != libm::floor(size) {
        return Err("its burst is a whole number of events".to_owned());
    }
    let nginx = Nginx::new(whole_rate(rate)?, size as u64 - 1, delay).map_err(|e| e.to_string())?;
    notes.instead(limit, &nginx, "which counts in whole milliseconds and thousandths");
    Ok(nginx)
}

/// The rate as a whole number a second or, if that is not possible, a minute.
fn whole_rate(rate: Rate) -> Result<Rate, String> {
    for per in [Span::seconds(1), Span::minutes(1)] {
        let count = rate.count() * (per.secs() / rate.per().secs());
        let whole = libm::round(count);
        if whole >= 1.0 && (count - whole).abs() < count * 1e-12 {
            return Rate::new(whole, per).map_err(|e| e.to_string());
        }
    }
    let minute = libm::round(rate.per_second() * 60e6) / 1e6;
    Err(format!("its rates are whole numbers a second or a minute, and this is {minute} a minute"))
}

fn unit(nginx: &Nginx) -> &'static str {
    if nginx.rate().per() == Span::seconds(1) { "s" } else { "m" }
}

/// The words after the zone.
fn words(nginx: &Nginx) -> String {
    let burst = match nginx.burst() {
        0 => String::new(),
        burst => format!(" burst={burst}"),
    };
    match nginx.delay() {
        Delay::Beyond(0) => burst,
        Delay::Beyond(first) => format!("{burst} delay={first}"),
        Delay::Never => burst + " nodelay",
    }
}

fn warn(nginx: &Nginx, notes: &mut Notes) {
    let (count, per) = (nginx.rate().count(), nginx.rate().per().secs());
    let kept = libm::round(nginx.per_second() * per * 1e3) / 1e3;
    if kept != count {
        notes.add(format!(
            "nginx keeps {count}r/m in whole thousandths a second, and so as {kept} a minute"
        ));
    }
    if nginx.burst() == 0 {
        let gap = libm::ceil(1e3 / nginx.per_second());
        notes.add(format!(
            "without a burst, the second of two requests within {gap}ms is refused, whatever came \
             before"
        ));
    }
}

/// The key by which requests are counted. It is never empty: nginx does not limit an empty key.
fn key(per: &Per, notes: &mut Notes) -> Result<String, String> {
    let fields = fields(per)?;
    joined(&fields).into_iter().for_each(|note| notes.add(note));
    if fields.contains(&Field::User) {
        notes.add(
            "nginx limits before it checks passwords: $remote_user is the name that a client \
             gives, and a client that gives others evades the limit",
        );
    }
    let names: Vec<String> = fields.iter().map(name).collect();
    Ok(match fields.as_slice() {
        [] => "all".to_owned(),
        [Field::Ip] => "$binary_remote_addr".to_owned(),
        [Field::Host | Field::Path | Field::Method] => names.concat(),
        [_] => format!("\"={}\"", names.concat()),
        _ => format!("\"{}\"", names.join(" ")),
    })
}

fn name(field: &Field) -> String {
    match field {
        Field::Ip => "$remote_addr".to_owned(),
        Field::Host => "$host".to_owned(),
        Field::Path => "$uri".to_owned(),
        Field::Method => "$request_method".to_owned(),
        Field::User => "$remote_user".to_owned(),
        Field::Header(header) => format!("$http_{}", header.replace('-', "_")),
    }
}
