//! Sections, and their lines as words.

use crate::read::{Config, Remark, said};
use crate::words::lines;
use core::str::Chars;

/// A line, and its section.
pub(super) struct Line {
    pub(super) number: usize,
    pub(super) section: usize,
    pub(super) words: Vec<String>,
}

impl Line {
    pub(super) fn word(&self, n: usize) -> &str {
        self.words.get(n).map_or("", String::as_str)
    }

    /// Says what HAProxy refuses in a table: what is missing, and options that it does not know.
    fn check_table(&self, config: &mut Config) {
        let names = match self.word(0) {
            "stick-table" => 1,
            "table" => 2,
            _ => return,
        };
        if let Some(missing) = ["type", "size"].iter().find(|name| self.after(name).is_none()) {
            return config.refuse(self.number, format!("the table has no {missing}"));
        }
        let mut words = self.words.iter().skip(names).map(String::as_str);
        while let Some(word) = words.next() {
            match word {
                "nopurge" | "recv-only" => {}
                "type" | "len" | "size" | "expire" | "store" | "peers" | "srvkey" | "write-to" => {
                    words.next();
                }
                other => {
                    let other = said(other);
                    return config
                        .refuse(self.number, format!("the table has the option {other:?}"));
                }
            }
        }
    }

    /// The word after this one.
    pub(super) fn after(&self, name: &str) -> Option<&str> {
        let at = self.words.iter().position(|word| word == name)?;
        self.words.get(at + 1).map(String::as_str)
    }

    /// The condition of a rule, without `if`.
    pub(super) fn condition(&self) -> Option<&[String]> {
        let at = self.words.iter().position(|word| word == "if" || word == "unless")?;
        self.words.get(at..)
    }

    /// The order in which HAProxy runs a rule of its section.
    pub(super) fn phase(&self) -> usize {
        const PHASES: [&str; 3] = ["connection", "session", "content"];
        let of = |word| PHASES.iter().position(|phase| *phase == word).unwrap_or(0);
        if self.word(0) == "tcp-request" { of(self.word(1)) } else { PHASES.len() }
    }

    pub(super) fn refuses(&self) -> bool {
        match self.action() {
            "deny" | "tarpit" | "reject" | "silent-drop" => true,
            "return" => self.after("status").is_some_and(|status| status.starts_with(['4', '5'])),
            _ => false,
        }
    }

    /// Tells whether it ends the rules of its section and phase for a matching request.
    pub(super) fn decides(&self) -> bool {
        self.refuses() || ["accept", "allow", "redirect", "return"].contains(&self.action())
    }

    /// The action of a rule, as in `track-sc0`.
    pub(super) fn action(&self) -> &str {
        match (self.word(0), self.word(1)) {
            ("http-request", action) => action,
            ("tcp-request", _) => self.word(2),
            _ => "",
        }
    }
}

/// The most words of a line (`MAX_LINE_ARGS`).
const WORDS: usize = 64;

const SECTIONS: [&str; 6] = ["frontend", "backend", "listen", "peers", "defaults", "global"];

/// A section: its kind and its name.
#[derive(Default)]
pub(super) struct Section {
    pub(super) kind: String,
    pub(super) name: String,
}

impl Section {
    /// Tells whether clients connect to it.
    pub(super) fn takes(&self) -> bool {
        ["frontend", "listen"].contains(&self.kind.as_str())
    }
}

/// The sections of a text, and all their lines.
pub(super) struct Sections {
    pub(super) sections: Vec<Section>,
    pub(super) lines: Vec<Line>,
}

impl Sections {
    pub(super) fn new(text: &str, config: &mut Config) -> Result<Self, Remark> {
        let mut all = Sections { sections: vec![Section::default()], lines: Vec::new() };
        for (number, line) in lines(text, &["#"]) {
            let words =
                words(line).ok_or_else(|| Remark::new(number, "a quoted text is not closed"))?;
            if words.len() > WORDS {
                let problem = format!("it has more than {WORDS} words, which HAProxy refuses");
                return Err(Remark::new(number, problem));
            }
            match words.first() {
                Some(kind) if SECTIONS.contains(&kind.as_str()) => {
                    let name = words.get(1).cloned().unwrap_or_default();
                    all.sections.push(Section { kind: kind.clone(), name });
                }
                Some(_) => {
                    let line = Line { number, section: all.sections.len() - 1, words };
                    line.check_table(config);
                    all.lines.push(line);
                }
                None => {}
            }
        }
        Ok(all)
    }
}

/// The words of a line, up to a comment.
fn words(line: &str) -> Option<Vec<String>> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut chars = line.chars();
    while let Some(c) = chars.next() {
        match c {
            '#' if word.is_none() => break,
            c if c.is_whitespace() => words.extend(word.take()),
            '\\' => word.get_or_insert_default().push(escaped(&mut chars)),
            quote @ ('"' | '\'') => {
                let word = word.get_or_insert_default();
                loop {
                    match chars.next()? {
                        c if c == quote => break,
                        '\\' if quote == '"' => word.push(escaped(&mut chars)),
                        c => word.push(c),
                    }
                }
            }
            c => word.get_or_insert_default().push(c),
        }
    }
    words.extend(word);
    Some(words)
}

/// The character that a backslash and the next one stand for. Most others do not belong to the backslash, which then is
/// itself, as in `path_reg \.php$`.
fn escaped(rest: &mut Chars<'_>) -> char {
    let mut after = rest.clone();
    let escaped = after.next().filter(|c| matches!(c, ' ' | '\\' | '#' | '\'' | '"' | '$'));
    if escaped.is_some() {
        *rest = after;
    }
    escaped.unwrap_or('\\')
}
