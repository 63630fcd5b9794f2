//! Where the load of the service comes from, on which elastic rules depend.

use ratescope::rules::Load;
use std::str::FromStr;

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Source {
    /// Linux's pressure stall information: the share of the last ten seconds in which a task waited for a processor.
    Pressure,
    /// The load average of the last minute, by the number of processors.
    Average,
    /// A request to the admin port.
    Admin,
    /// This field of requests.
    Field(String),
}

impl FromStr for Source {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match (text, text.strip_prefix("field:")) {
            ("pressure", _) => Ok(Source::Pressure),
            ("average", _) => Ok(Source::Average),
            ("admin", _) => Ok(Source::Admin),
            (_, Some(field)) if !field.is_empty() => Ok(Source::Field(field.to_owned())),
            _ => Err("write pressure, average, admin or field:NAME".to_owned()),
        }
    }
}

impl Source {
    /// The load by this machine; `None` if requests tell it.
    ///
    /// # Errors
    /// If this machine does not tell it.
    pub(super) fn measure(&self) -> Option<Result<Load, String>> {
        let (file, read): (_, fn(&str) -> Option<Load>) = match self {
            Source::Pressure => ("/proc/pressure/cpu", pressure),
            Source::Average => ("/proc/loadavg", average),
            Source::Admin | Source::Field(_) => return None,
        };
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"));
        Some(text.and_then(|text| {
            read(&text).ok_or_else(|| format!("{file}: it is not as in Linux's documentation"))
        }))
    }

    /// As a sentence for operators.
    pub(super) fn told(&self) -> String {
        match self {
            Source::Pressure => "the load is how long tasks waited for a processor in the last 10 s (/proc/pressure/cpu)".to_owned(),
            Source::Average => "the load is the load average of a minute by processors (/proc/loadavg)".to_owned(),
            Source::Admin => "the load is told by PUT /load?percent=42 on the admin port, and believed for 30 s".to_owned(),
            Source::Field(name) => format!(
                "the load is told by requests in the field {name}, as in 42%, and believed for 30 s"
            ),
        }
    }
}

/// Of the line `some avg10=1.23 avg60=0.00 avg300=0.00 total=0`.
fn pressure(text: &str) -> Option<Load> {
    let some = text.lines().find_map(|line| line.strip_prefix("some avg10="))?;
    Load::from_percent(some.split(' ').next()?.parse().ok()?).ok()
}

/// Of `0.42 0.30 0.25 1/234 5678`.
fn average(text: &str) -> Option<Load> {
    let average: f64 = text.split(' ').next()?.parse().ok()?;
    let processors = std::thread::available_parallelism().ok()?.get();
    Load::from_percent(average / processors as f64 * 100.0).ok()
}

#[cfg(test)]
mod tests {
    use super::{Source, average, pressure};

    #[test]
    fn what_linux_tells() {
        let said =
            "some avg10=12.50 avg60=3.00 avg300=1.00 total=1234\nfull avg10=0.00 avg60=0.00\n";
        assert_eq!(pressure(said).map(|load| load.percent()), Some(12.5));
        let processors = std::thread::available_parallelism().unwrap().get() as f64;
        let load = average("0.50 0.40 0.30 1/2 3\n").unwrap();
        assert_eq!(load.percent(), 50.0 / processors);
        for nonsense in ["", "some avg10=x", "some avg10=-1 "] {
            assert_eq!(pressure(nonsense), None);
            assert_eq!(average(nonsense), None);
        }
        assert_eq!("field:busy".parse(), Ok(Source::Field("busy".to_owned())));
        assert!("field:".parse::<Source>().is_err() && "cpu".parse::<Source>().is_err());
    }
}
