//! Tables of texts, a row a line.

/// The rows of a table, whose columns ` | ` separates. An empty text is written as `""`. Lines that begin with
/// `#` are remarks.
#[track_caller]
pub(crate) fn rows<const N: usize>(table: &str) -> impl Iterator<Item = [&str; N]> {
    let lines = table.lines().map(str::trim).filter(|line| !line.is_empty());
    lines.filter(|line| !line.starts_with('#')).map(|line| {
        let cell = |text| Some(str::trim(text)).filter(|text| *text != "\"\"").unwrap_or("");
        let cells: Vec<&str> = line.split(" | ").map(cell).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{line:?} has no {N} columns"))
    })
}
