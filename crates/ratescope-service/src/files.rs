//! The rule files that a service watches.

use super::limitador::other_format;
use super::{Service, reload};
use core::fmt;
use ratescope::clock::Clock;
use ratescope::rules::{OpenError, Reloaded, Rules};
use ratescope_tower::watch::{Content, FileNews, Watch, read};
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};

#[derive(Default)]
pub(super) struct Files {
    /// The names from the command line: files, and folders of files.
    named: Vec<PathBuf>,
    each: Vec<Followed>,
    /// A folder may have no rules.
    allow_no_rules: bool,
}

impl Files {
    fn health(&self) -> Vec<FileHealth> {
        let health = |file: &Followed| FileHealth {
            path: file.path.clone(),
            problem: file.problem.clone(),
            is_in_force: file.in_force.is_some(),
        };
        self.each.iter().map(health).collect()
    }
}

/// The state of a watched file, as of the last look.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct FileHealth {
    /// Where it is.
    pub path: PathBuf,
    /// Why the rules in force, if any, are not those of the file.
    pub problem: Option<String>,
    /// True if rules of the file are in force; with a `problem`, earlier ones. Without a problem, `false` means that
    /// the file is new, and is put in force if the next look finds it unchanged.
    pub is_in_force: bool,
}

struct Followed {
    path: PathBuf,
    /// The folder in which it was found; `None` if the file was named itself.
    folder: Option<PathBuf>,
    /// Its content at the last look, while it has no rules in force.
    content: Content,
    /// `None` until it had rules that could be put in force.
    in_force: Option<InForce>,
    /// The mistake in it at present.
    problem: Option<String>,
    /// At how many looks in a row it was missing in its folder.
    missing: u32,
    /// It left its folder, and its rules stay in force since nothing there is known to replace them.
    is_last: bool,
}

impl Followed {
    /// A file whose rules are not in force.
    fn new(path: PathBuf, folder: Option<&PathBuf>, content: Content) -> Self {
        let folder = folder.cloned();
        Followed {
            path,
            folder,
            content,
            in_force: None,
            problem: None,
            missing: 0,
            is_last: false,
        }
    }

    /// True if the next look puts its rules in force, if they are right.
    fn is_unsettled(&self) -> bool {
        self.in_force.is_none() && self.problem.is_none() && self.missing == 0
    }
}

/// The rules of a file, and the watch that reloads them.
struct InForce {
    domain: String,
    watch: Watch,
}

/// Something that was seen of a file.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Changed {
    /// The file has changed, with this result.
    Seen(PathBuf, FileNews),
    /// The file is new in its folder, and its rules are in force.
    Added(PathBuf),
    /// The first file has left its folder, and the second, a new one, has its domain. The states are kept, as at a
    /// reload with this result.
    Renamed(PathBuf, PathBuf, Reloaded),
    /// The file is new in its folder, and wrong.
    Wrong(PathBuf, String),
    /// The file has left its folder, and its rules are no longer in force.
    Removed(PathBuf),
    /// The file has left its folder, which has no other rules. Its rules stay in force.
    LastLeft(PathBuf),
    /// The file that had left its folder is there again.
    Returned(PathBuf),
}

impl Changed {
    /// True if the rules in force are those of the file.
    pub fn is_good(&self) -> bool {
        match self {
            Changed::Seen(_, FileNews::Read { reloaded, .. }) => {
                !matches!(reloaded, Reloaded::Rejected(_))
            }
            Changed::Seen(..) | Changed::Wrong(..) | Changed::LastLeft(_) => false,
            Changed::Added(_)
            | Changed::Renamed(..)
            | Changed::Removed(_)
            | Changed::Returned(_) => true,
        }
    }
}

impl fmt::Display for Changed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Changed::Seen(_, seen) => seen.fmt(f),
            Changed::Added(path) => write!(f, "{}: new rules are in force", path.display()),
            Changed::Renamed(from, to, reloaded) => {
                write!(f, "{} is now {}: rules {reloaded}", from.display(), to.display())
            }
            Changed::Wrong(path, why) => {
                write!(f, "{}: new rules are not in force: {why}", path.display())
            }
            Changed::Removed(path) => {
                write!(f, "{} is gone, and so are its rules", path.display())
            }
            Changed::LastLeft(path) => write!(f, "{}: {LAST_LEFT}", path.display()),
            Changed::Returned(path) => write!(f, "{} is there again", path.display()),
        }
    }
}

/// The problem of a file that left a folder without other rules.
const LAST_LEFT: &str = "it has left its folder, where no other file has rules; its rules stay in force until one has \
                         (or run with --allow-no-rules)";

impl<C: Clock> Service<C> {
    /// Lets folders be without rules: [`follow`](Self::follow) then takes a folder without a rule file, and the last
    /// file that leaves a folder takes its rules with it, after which every request passes.
    pub fn allow_no_rules(&self) {
        self.files.lock().unwrap_or_else(PoisonError::into_inner).allow_no_rules = true;
    }

    /// Puts the rules of files in force, and watches the files from now on: see [`look`](Self::look). In a folder,
    /// these are the files with the ending `.yaml` or `.yml`; if there are none, those in its folder `config`, where
    /// envoyproxy/ratelimit has them.
    ///
    /// # Errors
    /// If a file can't be read, is wrong or is named twice, or if there is no file, unless
    /// [`allow_no_rules`](Self::allow_no_rules) was called.
    pub fn follow(&self, named: &[PathBuf]) -> Result<(), OpenError> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let mut problems = Vec::new();
        let known = files.each.iter().filter_map(|file| fs::canonicalize(&file.path).ok());
        let mut known: BTreeSet<PathBuf> = known.collect();
        for name in named {
            match rule_files(name) {
                Err(error) => problems.push(OpenError::unreadable(name, error)),
                Ok(paths) if paths.is_empty() && !files.allow_no_rules => {
                    problems.push(OpenError::unreadable(name, "no file ends with .yaml or .yml"));
                }
                Ok(paths) => {
                    let folder = name.is_dir().then_some(name);
                    for path in paths {
                        if fs::canonicalize(&path).is_ok_and(|file| !known.insert(file)) {
                            problems.push(OpenError::unreadable(&path, "it is named twice"));
                            continue;
                        }
                        let content = read(&path);
                        let (followed, begun) = self.begin(path, folder, content, &mut []);
                        problems.extend(begun.err());
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

    /// Reads the files again. New rules are put in force if they are right and equal to those at the last look; wrong
    /// rules change nothing. A new file in a folder is added when two looks found the same content; a file that left is
    /// removed after two looks, but while its folder has no other rules in force, or a file that is wrong, its rules stay,
    /// unless [`allow_no_rules`](Self::allow_no_rules) was called. If a file leaves while another comes with the same
    /// domain, it was renamed: its rules stay in force until those of the new file take over, with the states. Call this
    /// every second or so.
    pub fn look(&self) -> Vec<Changed> {
        let mut files = self.files.lock().unwrap_or_else(PoisonError::into_inner);
        let now = self.clock().now();
        let mut changes = Vec::new();
        self.look_at_folders(&mut files, &mut changes);
        for file in &mut files.each {
            // A file that never had rules is read below, and one that has left its folder is removed at the end.
            if let Some(in_force) = &mut file.in_force
                && file.missing == 0
                && let Some(seen) = in_force.watch.look(now)
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
        let broken = files.each.iter().filter(|file| file.problem.is_some()).count();
        for change in &changes {
            self.meters().count_reload(change.is_good(), matches!(change, Changed::Removed(_)));
        }
        self.meters().set_broken(broken);
        // After the counters, so that a visible problem is counted already.
        self.health.store(Arc::new(files.health()));
        changes
    }

    fn look_at_folders(&self, files: &mut Files, changes: &mut Vec<Changed>) {
        for folder in files.named.clone().iter().filter(|name| name.is_dir()) {
            let Ok(paths) = rule_files(folder) else { continue };
            for file in files.each.iter_mut().filter(|file| file.folder.as_ref() == Some(folder)) {
                file.missing = if paths.contains(&file.path) { 0 } else { file.missing + 1 };
            }
            for path in paths {
                let place = files.each.iter().position(|file| file.path == path);
                let before = place.map(|place| &files.each[place]);
                if before.is_some_and(|file| file.in_force.is_some()) {
                    continue;
                }
                let content = read(&path);
                let problem = before.and_then(|file| file.problem.clone());
                // A half-written file is not taken.
                let is_settled = before.is_some_and(|file| file.content == content);
                let followed = if is_settled {
                    let (followed, begun) =
                        self.begin(path.clone(), Some(folder), content, &mut files.each);
                    match (begun, &followed.problem) {
                        (Ok(None), _) => changes.push(Changed::Added(path)),
                        (Ok(Some((from, reloaded))), _) => {
                            changes.push(Changed::Renamed(from, path, reloaded));
                        }
                        // One problem is reported once.
                        (Err(_), Some(why)) if problem.as_ref() != Some(why) => {
                            changes.push(Changed::Wrong(path, why.clone()));
                        }
                        (Err(_), _) => {}
                    }
                    followed
                } else {
                    Followed { problem, ..Followed::new(path, Some(folder), content) }
                };
                match place {
                    Some(place) => files.each[place] = followed,
                    None => files.each.push(followed),
                }
            }
        }
        // While the domain of a new file is unknown, it may be that of a file that left.
        let is_settled = !files.each.iter().any(Followed::is_unsettled);
        let kept = if files.allow_no_rules { Vec::new() } else { kept(&files.each) };
        files.each.retain_mut(|file| {
            let is_last = file.missing > 1
                && file.in_force.is_some()
                && file.folder.as_ref().is_some_and(|folder| kept.contains(folder));
            if is_last && !file.is_last {
                file.problem = Some(LAST_LEFT.to_owned());
                changes.push(Changed::LastLeft(file.path.clone()));
            } else if file.is_last && file.missing == 0 {
                file.problem = None;
                changes.push(Changed::Returned(file.path.clone()));
            }
            file.is_last = is_last;
            let is_gone = file.missing > 1 && !is_last && (is_settled || file.in_force.is_none());
            if is_gone {
                if let Some(InForce { domain, .. }) = &file.in_force {
                    self.remove(domain);
                }
                // A file that was renamed is reported already; one that left before its rules were taken needs no
                // report.
                if file.in_force.is_some() || file.problem.is_some() {
                    changes.push(Changed::Removed(file.path.clone()));
                }
            }
            !is_gone
        });
    }

    /// Puts the content of a file in force. The file is watched even if it is wrong; the error says why. If one of the
    /// `others` left its folder and has the same domain, this file replaces it, and the result names it.
    fn begin(
        &self,
        path: PathBuf,
        folder: Option<&PathBuf>,
        content: Content,
        others: &mut [Followed],
    ) -> (Followed, Result<Option<(PathBuf, Reloaded)>, OpenError>) {
        let begun = content.clone().and_then(|text| {
            let file = path.display().to_string();
            let rules = match (Rules::read(&file, &text), other_format(&text)) {
                (Err(_), Some(instead)) => return Err(OpenError::unreadable(&path, instead)),
                (read, _) => read?,
            };
            crate::tell_remarks(&rules);
            let name = rules.domain().to_owned();
            let has_left = |other: &&mut Followed| {
                other.missing > 0 && other.in_force.as_ref().is_some_and(|old| old.domain == name)
            };
            let left = others.iter_mut().find(has_left);
            let (domain, renamed) = match left.zip(self.domain(&name)) {
                None => (self.insert(rules)?, None),
                Some((old, domain)) => {
                    let reloaded =
                        reload(&domain, &self.checks(), &file, &text, self.clock().now());
                    if let Reloaded::Rejected(error) = reloaded {
                        return Err(error.into());
                    }
                    (old.in_force, old.problem) = (None, None);
                    (domain, Some((old.path.clone(), reloaded)))
                }
            };
            let checks = self.checks();
            let reload =
                move |file: &str, text: &str, now| reload(&domain, &checks, file, text, now);
            let watch = Watch::new(path.clone(), text, reload);
            Ok((InForce { domain: name, watch }, renamed))
        });
        let mut followed = Followed::new(path, folder, content);
        let begun = begun.map(|(in_force, renamed)| {
            followed.in_force = Some(in_force);
            renamed
        });
        followed.problem = begun.as_ref().err().map(OpenError::to_string);
        (followed, begun)
    }

    /// The watched files. This does not wait for a look under way, since a file may be slow to read.
    pub fn health(&self) -> Vec<FileHealth> {
        Vec::clone(&self.health.load())
    }
}

/// The folders whose rules stay in force though their files left: those without a file that is there and has rules in
/// force, and those with a file that is wrong, whose domain may be that of a file that left.
fn kept(files: &[Followed]) -> Vec<PathBuf> {
    let folders: BTreeSet<&PathBuf> =
        files.iter().filter_map(|file| file.folder.as_ref()).collect();
    let is_kept = |folder: &&PathBuf| {
        let within = || files.iter().filter(|file| file.folder.as_ref() == Some(folder));
        let is_wrong = |file: &Followed| file.in_force.is_none() && file.problem.is_some();
        !within().any(|file| file.in_force.is_some() && file.missing == 0)
            || within().any(|file| is_wrong(file) && file.missing < 2)
    };
    folders.into_iter().filter(is_kept).cloned().collect()
}

/// The rule files that a name stands for: itself, or in a folder those that [`Service::follow`] finds there.
///
/// # Errors
/// If the folder can't be read.
pub fn rule_files(name: &Path) -> io::Result<Vec<PathBuf>> {
    if !name.is_dir() {
        return Ok(vec![name.to_owned()]);
    }
    let within = listed(name)?;
    let config = name.join("config");
    if within.is_empty() && config.is_dir() { listed(&config) } else { Ok(within) }
}

/// The rule files of a folder, in order. Hidden files are left out: they are copies that Kubernetes keeps.
fn listed(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder)? {
        let entry = entry?;
        let path = entry.path();
        let is_hidden =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.'));
        let is_yaml = path.extension().is_some_and(|end| end == "yaml" || end == "yml");
        // A dangling symlink, as in the middle of an update, is a file that can't be read, not a file that left.
        if is_yaml && !is_hidden && !entry.file_type()?.is_dir() {
            found.push(path);
        }
    }
    found.sort();
    Ok(found)
}
