//! Rust, read just far enough to find words and imports in it: a row of words, without comments,
//! texts and what is for tests only.

/// The words of a file, each with its line: names and numbers, `::`, and other characters alone.
pub(crate) struct Code(Vec<(usize, String)>);

/// Reads a file.
pub(crate) fn read(text: &str) -> Code {
    let chars: Vec<char> = text.chars().collect();
    let mut words: Vec<(usize, String)> = Vec::new();
    let (mut line, mut i) = (1, 0);
    while i < chars.len() {
        let rest = &chars[i..];
        let length = skipped(rest).unwrap_or_else(|| {
            let name = rest.iter().take_while(|&&c| is_name(c)).count();
            let length = if rest.starts_with(&[':', ':']) { 2 } else { name.max(1) };
            if !rest[0].is_whitespace() {
                words.push((line, rest[..length].iter().collect()));
            }
            length
        });
        line += rest[..length].iter().filter(|&&c| c == '\n').count();
        i += length;
    }
    let mut code = Code(words);
    code.drop_tests();
    code
}

fn is_name(c: char) -> bool {
    c.is_alphanumeric() || c == '_'
}

/// How long the comment, text or character is that begins here, if one does.
fn skipped(rest: &[char]) -> Option<usize> {
    let up_to = |end: &[char], from: usize| {
        let found = rest[from..].windows(end.len()).position(|part| part == end);
        Some(found.map_or(rest.len(), |at| from + at + end.len()))
    };
    match rest {
        ['/', '/', ..] => up_to(&['\n'], 2).map(|end| end - 1),
        ['/', '*', ..] => {
            let (mut depth, mut i) = (0, 0);
            while i < rest.len() {
                match rest[i..] {
                    ['/', '*', ..] => (depth, i) = (depth + 1, i + 2),
                    ['*', '/', ..] => (depth, i) = (depth - 1, i + 2),
                    _ => i += 1,
                }
                if depth == 0 {
                    break;
                }
            }
            Some(i)
        }
        ['r', '"' | '#', ..] => {
            let hashes = rest[1..].iter().take_while(|&&c| c == '#').count();
            let mut end = vec!['"'];
            end.resize(1 + hashes, '#');
            // Otherwise a raw name, as in r#type.
            (rest.get(1 + hashes) == Some(&'"')).then(|| up_to(&end, 2 + hashes))?
        }
        ['"', ..] => Some(quoted(rest, '"')),
        // A character; otherwise a lifetime.
        ['\'', '\\', ..] | ['\'', _, '\'', ..] => Some(quoted(rest, '\'')),
        _ => None,
    }
}

/// The length of what stands between two quotes, with the quotes.
fn quoted(rest: &[char], quote: char) -> usize {
    let mut i = 1;
    while i < rest.len() && rest[i] != quote {
        i += if rest[i] == '\\' { 2 } else { 1 };
    }
    (i + 1).min(rest.len())
}

impl Code {
    /// The lines on which the words of `form` stand in a row.
    pub(crate) fn find(&self, form: &str) -> Vec<usize> {
        let form = read(form).0;
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
