//! Rust as a row of words, to find words and imports in it: without comments, texts and what is for
//! tests only.

use proc_macro2::{Delimiter, Punct, Spacing, TokenStream, TokenTree};

/// The words of a file, each with its line: names, `::`, and other characters alone.
pub(crate) struct Code(Vec<(usize, String)>);

/// Reads a file.
pub(crate) fn read(text: &str) -> Code {
    let mut code = Code(Vec::new());
    code.add(text.parse().unwrap());
    code.drop_tests();
    code
}

impl Code {
    fn add(&mut self, tokens: TokenStream) {
        let mut may_join = false;
        for token in tokens {
            let line = token.span().start().line;
            let mut add = |line, word: &str| self.0.push((line, word.to_owned()));
            match &token {
                TokenTree::Group(group) => {
                    let [open, close] = match group.delimiter() {
                        Delimiter::Parenthesis => ["(", ")"],
                        Delimiter::Bracket => ["[", "]"],
                        Delimiter::Brace | Delimiter::None => ["{", "}"],
                    };
                    add(line, open);
                    self.add(group.stream());
                    self.0.push((group.span_close().start().line, close.to_owned()));
                }
                TokenTree::Punct(c) if may_join && c.as_char() == ':' => {
                    self.0.last_mut().unwrap().1.push(':');
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => add(line, &token.to_string()),
                TokenTree::Literal(_) => {}
            }
            let joins = |c: &Punct| c.as_char() == ':' && c.spacing() == Spacing::Joint;
            may_join = !may_join && matches!(&token, TokenTree::Punct(c) if joins(c));
        }
    }

    /// The lines on which the words of `form` stand in a row, which may end with a bracket that opens.
    pub(crate) fn find(&self, form: &str) -> Vec<usize> {
        let close = match form.as_bytes() {
            [.., b'('] => ")",
            [.., b'{'] => "}",
            _ => "",
        };
        let mut form = read(&format!("{form}{close}")).0;
        form.truncate(form.len() - close.len());
        let same = |row: &&[(usize, String)]| row.iter().zip(&form).all(|(a, b)| a.1 == b.1);
        self.0.windows(form.len()).filter(same).map(|row| row[0].0).collect()
    }

    /// Every room that a file of the module `here` names, with the line: by `crate::`, by
    /// `super::` where that leads to the top, and in the programs by `ratescope::`.
    pub(crate) fn imports(&self, here: &[String]) -> Vec<(usize, String)> {
        let program = here.first().is_some_and(|room| room == "bin");
        let mut found = Vec::new();
        for start in 0..self.0.len() {
            if start > 0 && self.word(start - 1) == "::" {
                continue;
            }
            let mut after = start;
            match self.word(start) {
                "ratescope" if program => after += 1,
                "crate" if !program => after += 1,
                "super" if !program => {
                    let mut up = 0;
                    while self.word(after) == "super" {
                        up += 1;
                        after += if self.word(after + 1) == "::" { 2 } else { 1 };
                    }
                    after -= 1;
                    if up < here.len() {
                        continue;
                    }
                }
                _ => continue,
            }
            if self.word(after) == "::" {
                found.extend(self.first_names(after + 1));
            }
        }
        // A program may use what the crate's root shows; those names begin with a capital.
        found.retain(|(_, room)| !(program && room.starts_with(char::is_uppercase)));
        found
    }

    fn word(&self, at: usize) -> &str {
        self.0.get(at).map_or("", |(_, word)| word)
    }

    /// The name at `at`, or the first name of each path in a list in braces.
    fn first_names(&self, at: usize) -> Vec<(usize, String)> {
        if self.word(at) != "{" {
            return self.0.get(at).cloned().into_iter().collect();
        }
        let (mut depth, mut names) = (0, Vec::new());
        for i in at..self.0.len() {
            match self.word(i) {
                "{" => depth += 1,
                "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                break;
            }
            let begins = matches!(self.word(i), "{" | ",") && depth == 1;
            if begins && !matches!(self.word(i + 1), "{" | "}") {
                names.extend(self.0.get(i + 1).cloned());
            }
        }
        names
    }

    /// Takes out every item under `#[cfg(test)]`, with its braces or up to its semicolon.
    fn drop_tests(&mut self) {
        let mark = ["#", "[", "cfg", "(", "test", ")", "]"];
        let is_mark = |row: &[(usize, String)]| row.iter().map(|(_, word)| word).eq(mark);
        while let Some(start) = self.0.windows(mark.len()).position(is_mark) {
            let mut depth = 0;
            let ends = |(_, word): &(usize, String)| {
                depth += match word.as_str() {
                    "{" => 1,
                    "}" => -1,
                    _ => 0,
                };
                depth == 0 && matches!(word.as_str(), "}" | ";")
            };
            let length = self.0[start..].iter().position(ends).map_or(usize::MAX, |at| at + 1);
            self.0.drain(start..start.saturating_add(length).min(self.0.len()));
        }
    }
}
