//! Configuration of statements and blocks in braces: that of nginx, Caddy and nftables.

use crate::read::{DEEPEST, Remark};
use std::mem;

/// Where a statement ends.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ends {
    /// At a semicolon; a brace outside of quotes begins or ends a block. nginx.
    Semicolon,
    /// At the end of its line. A brace at the end or the beginning of a line begins or ends a block. Caddy.
    Line,
    /// At a semicolon or the end of the line. A brace after the head of a table, chain or other object begins a block.
    /// nftables.
    Both,
}

impl Ends {
    /// Tells whether a brace after these words begins a block.
    fn opens(self, words: &[String], is_last: bool) -> bool {
        match self {
            Ends::Semicolon => true,
            Ends::Line => is_last,
            Ends::Both => {
                let words: Vec<&str> = words.iter().take(5).map(String::as_str).collect();
                match words.strip_prefix(&["add"]).unwrap_or(&words) {
                    ["table" | "chain" | "map" | "flowtable", ..] => true,
                    // The head of an object, not a statement of a rule such as `counter update @set {`.
                    ["set" | "limit" | "counter" | "quota" | "secmark" | "synproxy", _] => true,
                    ["set" | "limit" | "counter" | "quota", _, _, _] => words[0] == "add",
                    ["ct", "helper" | "timeout" | "expectation", _] => true,
                    _ => false,
                }
            }
        }
    }
}

/// Words, and the block after them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Statement {
    pub(crate) line: usize,
    pub(crate) words: Vec<String>,
    pub(crate) block: Vec<Statement>,
}

impl Statement {
    pub(crate) fn word(&self, n: usize) -> &str {
        self.words.get(n).map_or("", String::as_str)
    }

    /// The words as in the text, without quotes and extra spaces.
    pub(crate) fn text(&self) -> String {
        self.words.join(" ")
    }

    pub(crate) fn begins_with(&self, name: &str) -> bool {
        self.word(0) == name
    }
}

enum Token {
    Word(String),
    /// A brace alone, without quotes.
    Brace(char),
    Semicolon,
    Newline,
}

/// Reads a text.
///
/// # Errors
/// When quotes or braces are not balanced, or blocks nest too deep.
pub(crate) fn read(text: &str, ends: Ends) -> Result<Vec<Statement>, Remark> {
    let mut tokens = Tokens { rest: text, line: 1, ends };
    let mut reading = Reading::default();
    let mut next = tokens.next()?;
    while let Some((line, token)) = next.take() {
        next = tokens.next()?;
        let is_last = matches!(next, None | Some((_, Token::Newline)));
        let is_within = reading.braces > 0;
        match token {
            Token::Newline if ends == Ends::Semicolon || is_within => {}
            Token::Newline => reading.finish(),
            Token::Semicolon if is_within => reading.add(line, ";".to_owned()),
            Token::Semicolon => reading.finish(),
            Token::Brace('{') if !is_within && ends.opens(&reading.now.words, is_last) => {
                let is_program =
                    ends == Ends::Semicolon && reading.now.word(0).ends_with("_by_lua_block");
                reading.open_block(line)?;
                if is_program {
                    // `next` is its first word.
                    tokens.skip_block(matches!(next, Some((_, Token::Brace('}')))), line)?;
                    next = Some((tokens.line, Token::Brace('}')));
                }
            }
            Token::Brace('{') => reading.open_brace(line)?,
            Token::Brace(_) if is_within => reading.close_brace(line),
            Token::Brace(_) => reading.close_block(line)?,
            Token::Word(word) => reading.add(line, word),
        }
    }
    reading.end(ends)
}

/// The state of the parser between two tokens.
#[derive(Default)]
struct Reading {
    /// The open blocks, the innermost last.
    open: Vec<Open>,
    /// The finished statements of the innermost block.
    done: Vec<Statement>,
    /// The statement that is not finished.
    now: Statement,
    /// The open braces within it, as in `update @set { ip saddr }`.
    braces: usize,
}

struct Open {
    head: Statement,
    /// The statements before the block.
    before: Vec<Statement>,
}

impl Reading {
    /// Adds a word to the statement, which is in the line of its first word.
    fn add(&mut self, line: usize, word: String) {
        if self.now.words.is_empty() {
            self.now.line = line;
        }
        self.now.words.push(word);
    }

    /// Ends the statement, if it has begun.
    fn finish(&mut self) {
        if !self.now.words.is_empty() {
            self.done.push(mem::take(&mut self.now));
        }
    }

    fn open_block(&mut self, line: usize) -> Result<(), Remark> {
        if self.open.len() >= DEEPEST {
            return Err(Remark::new(line, format!("more than {DEEPEST} blocks within each other")));
        }
        if self.now.words.is_empty() {
            self.now.line = line;
        }
        let head = mem::take(&mut self.now);
        let before = mem::take(&mut self.done);
        self.open.push(Open { head, before });
        Ok(())
    }

    fn close_block(&mut self, line: usize) -> Result<(), Remark> {
        self.finish();
        let Some(Open { head, before }) = self.open.pop() else {
            return Err(Remark::new(line, "a brace closes no block"));
        };
        let block = mem::replace(&mut self.done, before);
        self.done.push(Statement { block, ..head });
        Ok(())
    }

    fn open_brace(&mut self, line: usize) -> Result<(), Remark> {
        if self.braces >= DEEPEST {
            return Err(Remark::new(line, format!("more than {DEEPEST} braces within each other")));
        }
        self.braces += 1;
        self.add(line, "{".to_owned());
        Ok(())
    }

    fn close_brace(&mut self, line: usize) {
        self.braces -= 1;
        self.add(line, "}".to_owned());
    }

    /// All statements, at the end of the text.
    fn end(mut self, ends: Ends) -> Result<Vec<Statement>, Remark> {
        if let Some(Open { head, .. }) = self.open.last() {
            return Err(Remark::new(head.line, "its block is not closed"));
        }
        if self.braces > 0 {
            return Err(Remark::new(self.now.line, "a brace in it is not closed"));
        }
        if ends == Ends::Semicolon && !self.now.words.is_empty() {
            return Err(Remark::new(self.now.line, "a semicolon is missing"));
        }
        self.finish();
        Ok(self.done)
    }
}

/// Visits all statements, each with its enclosing statements, the outermost first.
pub(crate) fn walk<'a>(
    statements: &'a [Statement],
    around: &mut Vec<&'a Statement>,
    see: &mut impl FnMut(&'a Statement, &[&'a Statement]),
) {
    for statement in statements {
        see(statement, around);
        around.push(statement);
        walk(&statement.block, around, see);
        around.pop();
    }
}

struct Tokens<'a> {
    rest: &'a str,
    line: usize,
    ends: Ends,
}

impl Tokens<'_> {
    fn bump(&mut self) -> Option<char> {
        let mut chars = self.rest.chars();
        let c = chars.next()?;
        self.rest = chars.as_str();
        self.line += usize::from(c == '\n');
        Some(c)
    }

    fn peek(&self) -> Option<char> {
        self.rest.chars().next()
    }

    /// The next token and its line.
    fn next(&mut self) -> Result<Option<(usize, Token)>, Remark> {
        loop {
            let line = self.line;
            let Some(c) = self.peek() else { return Ok(None) };
            match c {
                '\n' => {
                    self.bump();
                    return Ok(Some((line, Token::Newline)));
                }
                '#' => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                '\\' if self.rest.starts_with("\\\n") => {
                    self.bump();
                    self.bump();
                }
                c if c.is_whitespace() => {
                    self.bump();
                }
                ';' if self.ends != Ends::Line => {
                    self.bump();
                    return Ok(Some((line, Token::Semicolon)));
                }
                '{' | '}' if self.is_brace() => {
                    self.bump();
                    return Ok(Some((line, Token::Brace(c))));
                }
                _ => return Ok(Some((line, Token::Word(self.word()?)))),
            }
        }
    }

    /// Tells whether the current brace stands alone, unlike a placeholder in Caddy.
    fn is_brace(&self) -> bool {
        let after = self.rest.get(1..).and_then(|rest| rest.chars().next());
        self.ends != Ends::Line || after.is_none_or(char::is_whitespace)
    }

    fn word(&mut self) -> Result<String, Remark> {
        let begun = self.line;
        match self.peek() {
            Some(quote @ ('"' | '\'' | '`')) if self.quotes(quote) => {
                self.bump();
                self.quoted(quote, begun)
            }
            _ => Ok(self.bare()),
        }
    }

    fn quotes(&self, quote: char) -> bool {
        match self.ends {
            Ends::Semicolon => quote != '`',
            Ends::Line => quote != '\'',
            Ends::Both => quote == '"',
        }
    }

    fn quoted(&mut self, quote: char, begun: usize) -> Result<String, Remark> {
        let mut word = String::new();
        while let Some(c) = self.bump() {
            match c {
                c if c == quote => return Ok(word),
                '\\' if quote != '`' => match self.peek() {
                    Some(next @ ('"' | '\'' | '\\')) => {
                        self.bump();
                        word.push(next);
                    }
                    _ => word.push('\\'),
                },
                c => word.push(c),
            }
        }
        Err(Remark::new(begun, "a quoted text is not closed"))
    }

    fn bare(&mut self) -> String {
        let mut word = String::new();
        while let Some(c) = self.peek() {
            let is_end = match c {
                c if c.is_whitespace() => true,
                ';' => self.ends != Ends::Line,
                // `${name}` is a variable of nginx.
                '{' => self.ends != Ends::Line && !word.ends_with('$'),
                '}' if self.ends == Ends::Semicolon => {
                    word.rsplit_once("${").is_none_or(|(_, name)| name.contains('}'))
                }
                '}' => self.ends == Ends::Both,
                _ => false,
            };
            if is_end {
                break;
            }
            if c == '\\' && self.rest.starts_with("\\\n") {
                break;
            }
            self.bump();
            word.push(c);
        }
        word
    }

    /// Skips a program in braces.
    fn skip_block(&mut self, is_empty: bool, line: usize) -> Result<(), Remark> {
        let mut depth = usize::from(!is_empty);
        while depth > 0 {
            match self.bump() {
                Some(quote @ ('"' | '\'')) => _ = self.quoted(quote, line)?,
                Some('-') if self.rest.starts_with('-') => {
                    let end = self.rest.find('\n').unwrap_or(self.rest.len());
                    self.rest = &self.rest[end..];
                }
                Some('{') => depth += 1,
                Some('}') => depth -= 1,
                Some(_) => {}
                None => return Err(Remark::new(line, "its block is not closed")),
            }
        }
        Ok(())
    }
}
