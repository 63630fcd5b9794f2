//! The files of rules that a service follows.

use super::{Domain, Service, States, meters, reload};
use crate::clock::Clock;
use crate::middleware::watch::{FileNews, Watch, read};
use crate::rules::{AsyncStore, OpenError, Reloaded, Rules};
use core::fmt;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

/// The files that are followed.
pub(super) struct Files<B: States> {
    /// The names from the command line: files, and folders of files.
    named: Vec<PathBuf>,
    each: Vec<Followed<B>>,
}

impl<B: States> Default for Files<B> {
    fn default() -> Self {
        Files { named: Vec::new(), each: Vec::new() }
    }
}

impl<B: States> Files<B> {
    fn health(&self) -> Vec<FileHealth> {
        let health = |file: &Followed<B>| FileHealth {
            path: file.path.clone(),
            problem: file.problem.clone(),
            is_in_force: file.domain.is_some(),
        };
        self.each.iter().map(health).collect()
    }
}

/// The state of a file that is followed, as the last look found it.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileHealth {
    /// Its path.
    pub path: PathBuf,
    /// The reason why the rules in force, if there are any, are not those of the file.
    pub problem: Option<String>,
    /// Whether rules of the file are in force. With a problem, these are earlier ones.
    pub is_in_force: bool,
}

struct Followed<B: States> {
    path: PathBuf,
    /// The folder in which it was found; `None` if the file was named itself.
    folder: Option<PathBuf>,
    watch: Watch,
    /// `None` while it never had rules that could be put in force.
    domain: Option<Arc<Domain<B::Store>>>,
    /// Its problem at present, if it has one.
    problem: Option<String>,
    /// Whether it was missing in that folder at the last look.
    is_missing: bool,
}

/// Something that was seen of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Changed {
    /// The file has changed, with this result.
    Seen(PathBuf, FileNews),
    /// The file is new in its folder, and its rules are in force.
    Added(PathBuf),
    /// The file is new in its folder, and wrong.
    Wrong(PathBuf, String),
    /// The file has left its folder, and its rules are no longer in force.
    Removed(PathBuf),
}

impl Changed {
    /// Whether the rules in force are those of the file.
    pub fn is_good(&self) -> bool {
        match self {
            Changed::Seen(_, FileNews::Read { reloaded, .. }) => {
                !matches!(reloaded, Reloaded::Rejected(_))
            }
            Changed::Seen(..) | Changed::Wrong(..) => false,
            Changed::Added(_) | Changed::Removed(_) => true,
        }
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Changed::Seen(_, seen) => seen.fmt(f),
            Changed::Added(path) => write!(f, "{}: new rules are in force", path.display()),
            Changed::Wrong(path, why) => {
                write!(f, "{}: new rules are not in force: {why}", path.display())
            }
            Changed::Removed(path) => {
                write!(f, "{} is gone, and so are its rules", path.display())
            }
        }
    }
}

impl<B: States, C: Clock> Service<B, C> {
    /// Puts the rules of files in force, and follows them from now on: see [`look`](Self::look). In a
    /// folder, these are the files with the ending `.yaml` or `.yml`; if there is none, those of the
    /// folder `config` in it, where envoyproxy/ratelimit has them.
    ///
    /// # Errors
    /// If any can't be read or is wrong, or if there is none.
    pub fn follow(&self, named: &[PathBuf]) -> Result<(), OpenError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut problems = Vec::new();
        for name in named {
            match found(name) {
                Err(error) => problems.push(OpenError::unreadable(name, error)),
                Ok(paths) if paths.is_empty() => {
                    problems.push(OpenError::unreadable(name, "no file ends with .yaml or .yml"));
                }
                Ok(paths) => {
                    let folder = name.is_dir().then_some(name);
                    for path in paths {
                        let (followed, problem) = self.begin(path, folder);
                        problems.extend(problem);
                        files.each.push(followed);
                    }
                }
            }
        }
        files.named.extend_from_slice(named);
        self.health.store(Arc::new(files.health()));
        match problems.len() {
            0 => Ok(()),
            1 => problems.pop().map_or(Ok(()), Err),
            _ => Err(OpenError::Several(problems)),
        }
    }

    /// Reads the files again. Rules that have changed are put in force if they are right, and were the
    /// same at the last look; wrong ones change nothing. A file that is new in a folder is added, and one
    /// that has left it is removed. It is meant to be called every second or so.
    pub fn look(&self) -> Vec<Changed> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock().now();
        let mut changes = Vec::new();
        self.look_at_folders(&mut files, &mut changes);
        for file in &mut files.each {
            // A file that never had rules is read from the beginning, and one that has left its folder is
            // removed in the end.
            if file.domain.is_some()
                && !file.is_missing
                && let Some(seen) = file.watch.look(now)
            {
                file.problem = match &seen {
                    FileNews::Read { reloaded: Reloaded::Rejected(error), .. } => {
                        Some(error.to_string())
                    }
                    FileNews::Unreadable(reason) => Some(reason.clone()),
                    _ => None,
                };
                changes.push(Changed::Seen(file.path.clone(), seen));
            }
        }
        self.health.store(Arc::new(files.health()));
        let broken = files.each.iter().filter(|file| file.problem.is_some()).count();
        for change in &changes {
            meters::count_load(change.is_good(), broken);
        }
        changes
    }

    fn look_at_folders(&self, files: &mut Files<B>, changes: &mut Vec<Changed>) {
        for folder in files.named.clone().iter().filter(|name| name.is_dir()) {
            let Ok(paths) = found(folder) else { continue };
            files.each.retain_mut(|file| {
                if file.folder.as_ref() != Some(folder) {
                    return true;
                }
                let was_missing =
                    core::mem::replace(&mut file.is_missing, !paths.contains(&file.path));
                let is_gone = was_missing && file.is_missing;
                if is_gone {
                    if let Some(domain) = &file.domain {
                        self.remove(domain.rules().domain());
                    }
                    changes.push(Changed::Removed(file.path.clone()));
                }
                !is_gone
            });
            for path in paths {
                let known = files.each.iter().position(|file| file.path == path);
                let before = known.map(|place| &files.each[place]);
                if before.is_some_and(|file| file.domain.is_some()) {
                    continue;
                }
                let problem = before.and_then(|file| file.problem.clone());
                let (followed, _) = self.begin(path.clone(), Some(folder));
                match &followed.problem {
                    None => changes.push(Changed::Added(path)),
                    // Said once.
                    Some(why) if problem.as_ref() != Some(why) => {
                        changes.push(Changed::Wrong(path, why.clone()));
                    }
                    Some(_) => {}
                }
                if let Some(place) = known {
                    files.each.swap_remove(place);
                }
                files.each.push(followed);
            }
        }
    }

    /// Reads a file for the first time. It is followed even if it is wrong; the error says why.
    fn begin(&self, path: PathBuf, folder: Option<&PathBuf>) -> (Followed<B>, Option<OpenError>) {
        let name = path.display().to_string();
        let text = read(&path);
        let rules = text.as_ref().map_err(OpenError::clone).and_then(|text| {
            let rules = Rules::read(&name, text).and_then(|rules| self.put(rules));
            rules.map_err(OpenError::from)
        });
        let (domain, problem) = match rules {
            Ok(domain) => (Some(domain), None),
            Err(problem) => (None, Some(problem)),
        };
        let (states, follows) = (Arc::clone(&self.states), domain.clone());
        let watch =
            Watch::new(
                path.clone(),
                text.unwrap_or_default(),
                move |file, text, now| match &follows {
                    Some(domain) => reload(&*states, domain, (file, text), now),
                    None => Reloaded::Unchanged,
                },
            );
        let said = problem.as_ref().map(OpenError::to_string);
        let folder = folder.cloned();
        (Followed { path, folder, watch, domain, problem: said, is_missing: false }, problem)
    }

    /// The files that are followed. It waits for no look that is under way, since a file may be slow to read.
    pub fn health(&self) -> Vec<FileHealth> {
        Vec::clone(&self.health.load())
    }
}

/// The files that a name stands for.
fn found(name: &Path) -> io::Result<Vec<PathBuf>> {
    if !name.is_dir() {
        return Ok(vec![name.to_owned()]);
    }
    let within = listed(name)?;
    let config = name.join("config");
    if within.is_empty() && config.is_dir() { listed(&config) } else { Ok(within) }
}

/// The rule files of a folder, in order. Hidden ones are left out, as Kubernetes keeps its copies so.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        let is_hidden =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        if is_yaml && !is_hidden && path.is_file() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
