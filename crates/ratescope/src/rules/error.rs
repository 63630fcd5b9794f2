//! The mistakes in a file.

use crate::text::write_joined;
use core::fmt;

/// A mistake: its place, the word there, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    at: At,
    word: String,
    problem: String,
}

/// A place in a text: line and column, both from 1; columns are characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct At {
    /// From 1.
    pub line: usize,
    /// From 1, in characters.
    pub column: usize,
}

impl Mistake {
    pub(super) fn new(at: At, word: &str, problem: impl Into<String>) -> Self {
        Mistake { at, word: word.to_owned(), problem: problem.into() }
    }

    /// The line, from 1.
    pub fn line(&self) -> usize {
        self.at.line
    }

    /// The column, in characters from 1.
    pub fn column(&self) -> usize {
        self.at.column
    }

    /// The word there; empty if something is missing.
    pub fn word(&self) -> &str {
        &self.word
    }

    /// The problem, and the remedy.
    pub fn problem(&self) -> &str {
        &self.problem
    }
}

/// As in `4:5: "Value": not a key of a descriptor; did you mean value?`
impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let At { line, column } = self.at;
        write!(f, "{line}:{column}: ")?;
        if !self.word.is_empty() {
            let shown: String = self.word.chars().take(LONGEST_WORD).collect();
            let more = if shown.len() < self.word.len() { "..." } else { "" };
            write!(f, "{shown:?}{more}: ")?;
        }
        f.write_str(&self.problem)
    }
}

/// The most characters of a word that are printed.
const LONGEST_WORD: usize = 80;

/// Why a file was refused: all of its mistakes. A `main` that returns it prints its `Display`.
#[derive(Clone, PartialEq, Eq)]
pub struct RulesError {
    file: String,
    mistakes: Vec<Mistake>,
}

/// The most mistakes that are reported. A file with more is probably no rule file.
pub(super) const MOST: usize = 50;

impl RulesError {
    pub(super) fn new(file: &str, mut mistakes: Vec<Mistake>) -> Self {
        mistakes.sort_by_key(|mistake| (mistake.at.line, mistake.at.column));
        mistakes.truncate(MOST);
        RulesError { file: file.to_owned(), mistakes }
    }

    /// The name of the file, as given.
    pub fn file(&self) -> &str {
        &self.file
    }

    /// The mistakes, in the order of the file: from 1 to 50.
    pub fn mistakes(&self) -> &[Mistake] {
        &self.mistakes
    }
}

/// A line for each mistake, as compilers print them: `rules.yaml:4:5: ...`
impl fmt::Display for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let lines = self.mistakes.iter().map(|mistake| format!("{}:{mistake}", self.file));
        write_joined(f, lines, "\n")
    }
}

impl fmt::Debug for RulesError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl core::error::Error for RulesError {}
