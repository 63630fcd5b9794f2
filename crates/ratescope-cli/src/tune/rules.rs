//! A limit as a rule file for `ratescope run`.

use ratescope::limit::any::AnyLimiter;
use ratescope::policy::Per;
use ratescope::rules::Rules;

/// The rule file with a limit, and notes on it.
///
/// # Errors
/// Says in a sentence why there is none.
pub(super) fn write(limiter: &AnyLimiter, per: &Per) -> Result<(String, Vec<String>), String> {
    if per.fields().is_empty() {
        return Err("a rule is for the values of a field; choose a key".to_owned());
    }
    let mut text = "# To try it on a log: ratescope simulate --rules FILE access.log\n\
                    domain: ratescope\n"
        .to_owned();
    let mut indent = String::new();
    for field in per.fields() {
        text += &format!("{indent}descriptors:\n{indent}  - key: {}\n", quoted(field));
        indent += "    ";
    }
    text += &format!("{indent}limit: {limiter}\n");
    Rules::read("", &text).map_err(|error| error.to_string())?;
    let mut notes = vec![
        "to try it first without refusing anything, add shadow: true beside the limit".to_owned(),
    ];
    if per.fields().iter().any(|field| field == "ip") {
        let note = "Envoy's own descriptor of the address is remote_address: let it send the key ip, or write \
                    remote_address here";
        notes.push(note.to_owned());
    }
    Ok((text, notes))
}

/// A field as a value of YAML.
fn quoted(field: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"_-.".contains(&byte);
    let starts = field.starts_with(|first: char| first.is_ascii_alphabetic());
    if starts && field.bytes().all(is_plain) {
        field.to_owned()
    } else {
        format!("'{}'", field.replace('\'', "''"))
    }
}
