//! `tune --follow`: reads a log that grows, and shows its report again when it has grown.

use super::tail::{Look, Tail};
use super::{Task, files};
use crate::terminal;
use console::Term;
use ratescope_lab::tune::{Failure, Import, Imported};
use ratescope_log::packer;
use std::error::Error;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::path::Path;
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

/// The pause before the next look at a file, when all has been read, and between the reports of a stream.
const PAUSE: Duration = Duration::from_secs(1);

/// The most pieces of a file that are read before a report is shown: some 256 MiB.
const AT_ONCE: usize = 1 << 12;

/// Reports of a stream take at most a fifth of the time, so that reading keeps up with writing.
const REST: u32 = 4;

/// Follows the log, until standard input ends, nobody reads the reports, or the program is stopped.
pub(super) fn run(task: &Task<'_>) -> Result<(), Box<dyn Error>> {
    let args = task.args;
    let path = match args.files.as_slice() {
        [] => Path::new("-"),
        [path] => path,
        _ => return Err("--follow reads one log".into()),
    };
    let input = if path.as_os_str() == "-" {
        Input::Stream(Stream::new(pieces_of(io::stdin()), PAUSE))
    } else {
        Input::File(Tail::new(path))
    };
    let import = Import::new(args.source.reading(), args.room());
    let mut wait = || thread::sleep(PAUSE);
    let mut last_problem = String::new();
    let show = &mut |read: Result<Imported, Failure>| {
        let shown = read.and_then(|log| {
            let tried = files::tried_all(&log.summary, &task.limits)?;
            Ok((log, tried))
        });
        match shown {
            Ok((log, tried)) => show(task, log, &tried),
            // More of the log may come, so a problem does not end the program. It is not repeated.
            Err(error) => {
                let problem = format!("{}: {error}", terminal::name(path));
                if last_problem != problem {
                    terminal::say(&problem);
                    last_problem = problem;
                }
                Ok(true)
            }
        }
    };
    let followed = follow(import, input, &mut wait, show);
    followed.map_err(|error| format!("{}: {error}", terminal::name(path)).into())
}

/// Prints a report. Returns `false` if the reader of the output has closed it.
fn show(task: &Task<'_>, log: Imported, tried: &[files::Tried]) -> Result<bool, Failure> {
    let mut report = Vec::new();
    task.answer(log, tried, &mut report)?.1?;
    let term = Term::stdout();
    let printed = if term.is_term() && !task.args.json {
        let (rows, columns) = term.size();
        let report = fit(&String::from_utf8_lossy(&report), rows.into(), columns.into());
        term.clear_screen().and_then(|()| term.write_str(&report)).and_then(|()| term.flush())
    } else {
        let mut out = io::stdout().lock();
        out.write_all(&report).and_then(|()| out.flush())
    };
    match printed {
        Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(false),
        printed => Ok(printed.map(|()| true)?),
    }
}

/// A log that grows.
enum Input {
    File(Tail),
    Stream(Stream),
}

/// The pieces of a stream, sent by another thread as they arrive.
struct Stream {
    pieces: Receiver<io::Result<Vec<u8>>>,
    /// The shortest time between two reports.
    pause: Duration,
    /// When the next report may be shown.
    due: Instant,
}

impl Stream {
    fn new(pieces: Receiver<io::Result<Vec<u8>>>, pause: Duration) -> Self {
        Stream { pieces, pause, due: Instant::now() }
    }

    /// Waits for the next piece. If there `is_new` text to report, waits only until the next report is due, and then
    /// returns [`Look::Nothing`]; `None` at the end.
    fn look(&mut self, piece: &mut Vec<u8>, is_new: bool) -> io::Result<Option<Look>> {
        let next = if is_new {
            let left = self.due.saturating_duration_since(Instant::now());
            self.pieces.recv_timeout(left)
        } else {
            self.pieces.recv().map_err(|_| RecvTimeoutError::Disconnected)
        };
        match next {
            Ok(next) => {
                *piece = next?;
                Ok(Some(Look::More))
            }
            Err(RecvTimeoutError::Timeout) => Ok(Some(Look::Nothing)),
            Err(RecvTimeoutError::Disconnected) => Ok(None),
        }
    }

    /// Sets when the next report is due, after one that took as long.
    fn rest(&mut self, took: Duration) {
        self.due = Instant::now() + self.pause.max(REST * took);
    }
}

/// Reads a stream in a thread of its own, up to four pieces ahead of the receiver.
fn pieces_of(mut input: impl Read + Send + 'static) -> Receiver<io::Result<Vec<u8>>> {
    let (pieces, read) = sync_channel(4);
    thread::spawn(move || {
        loop {
            let mut piece = vec![0; 1 << 16];
            let more = match input.read(&mut piece) {
                Ok(0) => return,
                Err(error) if error.kind() == ErrorKind::Interrupted => continue,
                Ok(length) => {
                    piece.truncate(length);
                    Ok(piece)
                }
                Err(error) => Err(error),
            };
            let is_last = more.is_err();
            if pieces.send(more).is_err() || is_last {
                return;
            }
        }
    });
    read
}

impl Input {
    /// Looks for new bytes, and puts them into `piece`; `None` at the end of a stream. Only a stream waits for them.
    fn look(&mut self, piece: &mut Vec<u8>, is_new: bool) -> Result<Option<Look>, Failure> {
        match self {
            Input::File(tail) => Ok(Some(tail.look(piece)?)),
            Input::Stream(stream) => Ok(stream.look(piece, is_new)?),
        }
    }

    /// Tells whether a report comes before the next piece, after so many pieces since the last.
    fn is_due(&self, pieces: usize) -> bool {
        match self {
            Input::File(_) => pieces == AT_ONCE,
            Input::Stream(stream) => pieces > 0 && Instant::now() >= stream.due,
        }
    }
}

/// Reads, shows, waits, and begins again, until a stream ends, `show` returns `false`, or something fails.
fn follow(
    mut import: Import,
    mut input: Input,
    wait: &mut dyn FnMut(),
    show: &mut dyn FnMut(Result<Imported, Failure>) -> Result<bool, Failure>,
) -> Result<(), Failure> {
    // A file is shown at once, even if it is empty; a stream once its first bytes have come.
    let mut is_first = matches!(input, Input::File(_));
    let mut piece = Vec::new();
    let mut ended = false;
    let mut begins = true;
    let mut has_begun = false;
    while !ended {
        let mut is_new = mem::take(&mut is_first);
        let mut is_all = false;
        for pieces in 0.. {
            if input.is_due(pieces) {
                break;
            }
            match input.look(&mut piece, is_new)? {
                Some(Look::More) => {
                    if mem::take(&mut begins)
                        && let Some(name) = packer(&piece)
                    {
                        return Err(
                            format!("it is packed with {name}; only text can be followed").into()
                        );
                    }
                    has_begun = true;
                    import.feed(&piece)?;
                }
                Some(Look::NextFile) => {
                    import.next_file()?;
                    begins = true;
                }
                Some(Look::Nothing) => {
                    is_all = true;
                    break;
                }
                Some(Look::Unreadable(problem)) => {
                    if !show(Err(problem.into()))? {
                        return Ok(());
                    }
                    is_all = true;
                    break;
                }
                None => {
                    import.next_file()?;
                    (is_new, ended) = (true, true);
                    break;
                }
            }
            is_new = true;
        }
        let read = || if has_begun { import.so_far() } else { Err("nothing is there yet".into()) };
        let begin = Instant::now();
        if is_new && !show(read())? {
            return Ok(());
        }
        match &mut input {
            Input::File(_) if is_all => wait(),
            Input::File(_) => {}
            Input::Stream(stream) => stream.rest(begin.elapsed()),
        }
    }
    Ok(())
}

/// The part of a report that fits a screen: its first line, the number of lines left out, and its end, which
/// has the recommendation.
fn fit(report: &str, rows: usize, columns: usize) -> String {
    let height = |line: &&str| line.chars().count().div_ceil(columns.max(1)).max(1);
    let lines: Vec<&str> = report.lines().collect();
    // The cursor stands in the last row.
    let mut room = rows.saturating_sub(1);
    if lines.iter().map(height).sum::<usize>() <= room {
        return report.to_owned();
    }
    let Some((first, rest)) = lines.split_first() else { return String::new() };
    room = room.saturating_sub(height(first) + 1);
    let mut from = rest.len();
    for line in rest.iter().rev() {
        let Some(left) = room.checked_sub(height(line)) else { break };
        (room, from) = (left, from - 1);
    }
    let mut shown = format!("{first}\n... {from} lines that do not fit here\n");
    for line in rest.iter().skip(from) {
        shown += line;
        shown.push('\n');
    }
    shown
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratescope_lab::tune::{ReadOptions, Room};
    use std::collections::VecDeque;
    use std::fs;
    use std::path::PathBuf;

    fn folder(name: &str) -> PathBuf {
        let folder = std::env::temp_dir().join(format!("ratescope-{name}-{}", std::process::id()));
        fs::create_dir_all(&folder).unwrap();
        folder
    }

    fn line(n: u32) -> String {
        format!("192.0.2.{n} - - [10/Oct/2000:13:55:{n:02} +0000] \"GET / HTTP/1.1\" 200 1\n")
    }

    fn import() -> Import {
        Import::new(ReadOptions::default(), Room::default())
    }

    fn append(path: &Path, text: &str) {
        let mut file = fs::OpenOptions::new().create(true).append(true).open(path).unwrap();
        file.write_all(text.as_bytes()).unwrap();
    }

    /// Follows a log, and takes the next step whenever nothing is new; stops at an error. Returns the requests and the
    /// lines of each report, or its problem.
    fn reports(path: &Path, steps: Vec<Box<dyn FnOnce()>>) -> Vec<String> {
        let mut steps = VecDeque::from(steps);
        let mut seen = Vec::new();
        let mut wait = || steps.pop_front().unwrap()();
        let mut show = |read: Result<Imported, Failure>| {
            seen.push(match read {
                Ok(log) => format!("{} of {}", log.summary.clients.requests(), log.summary.lines),
                Err(error) => error.to_string(),
            });
            Ok(true)
        };
        let last = follow(import(), Input::File(Tail::new(path)), &mut wait, &mut show);
        if let Err(error) = last {
            seen.push(error.to_string());
        }
        seen
    }

    /// Once with so few lines that the format stays a guess, and once with enough to be sure.
    #[test]
    fn a_log_is_followed_through_its_rotations() {
        for before in [0, 20] {
            follow_rotations(before);
        }
    }

    fn follow_rotations(before: u32) {
        let folder = folder(&format!("follow-{before}"));
        let log = folder.join("access.log");
        let old = folder.join("access.log.1");
        let _ = (fs::remove_file(&log), fs::remove_file(&old));
        let text = |from: u32, to: u32| (from..to).map(line).collect::<String>();
        let half = line(3)[..30].to_owned();
        let rest = line(3)[30..].to_owned();
        let write = |path: &PathBuf, text: String| {
            let path = path.clone();
            Box::new(move || append(&path, &text)) as Box<dyn FnOnce()>
        };
        let steps: Vec<Box<dyn FnOnce()>> = vec![
            write(&log, text(1, 3) + &text(20, 20 + before) + &half),
            write(&log, rest),
            {
                // Renamed, and still written to.
                let log = log.clone();
                let old = old.clone();
                Box::new(move || {
                    fs::rename(&log, &old).unwrap();
                    append(&old, &line(4));
                })
            },
            write(&log, text(5, 7)),
            // The new file is read at the second look that finds it.
            write(&old, line(7)),
            {
                // Cut off, as copytruncate does.
                let log = log.clone();
                Box::new(move || fs::write(&log, line(8)).unwrap())
            },
            write(&log, "nothing\n".to_owned()),
            write(&log, "BZh: no packed file, as it is not at the beginning\n".to_owned()),
            {
                let log = log.clone();
                Box::new(move || fs::write(&log, "BZh9").unwrap())
            },
        ];
        let seen = reports(&log, steps);
        let wanted = [
            "nothing is there yet",
            "2 of 2",
            "3 of 3",
            "4 of 4",
            "7 of 7",
            "8 of 8",
            "8 of 9",
            "8 of 10",
            "it is packed with bzip2; only text can be followed",
        ];
        let shifted = |said: &str| match said.split_once(" of ") {
            Some((requests, lines)) => {
                let more = |n: &str| n.parse::<u32>().unwrap() + before;
                format!("{} of {}", more(requests), more(lines))
            }
            None => said.to_owned(),
        };
        let wanted = wanted.map(shifted);
        assert_eq!(seen, wanted);
        let seen = reports(&folder, Vec::new());
        assert_eq!(seen, ["it is not a regular file; pipe it to standard input to follow it"]);
        fs::remove_dir_all(folder).unwrap();
    }

    /// For a while a folder, or a file without read permission, may have the name of the log.
    #[test]
    fn a_log_is_followed_past_what_is_no_file() {
        let folder = folder("follow-past");
        let log = folder.join("access.log");
        let make = |log: &Path| fs::create_dir(log).unwrap();
        let replace = |log: &Path| {
            fs::remove_dir(log).unwrap();
            append(log, &line(1));
        };
        let remove = |log: &Path| fs::remove_file(log).unwrap();
        let wait = |_: &Path| ();
        let pack = |log: &Path| append(log, "BZh9");
        let acts = [make, replace, remove, make, replace, wait, remove, pack, wait];
        let act = |act: fn(&Path)| {
            let log = log.clone();
            Box::new(move || act(&log)) as Box<dyn FnOnce()>
        };
        let seen = reports(&log, acts.map(act).into());
        let no_file = "it is not a regular file; pipe it to standard input to follow it";
        let packed = "it is packed with bzip2; only text can be followed";
        let wanted = ["nothing is there yet", no_file, "1 of 1", no_file, "2 of 2", packed];
        assert_eq!(seen, wanted);
        fs::remove_dir_all(folder).unwrap();
    }

    /// A header may come again after a rotation, or not.
    #[test]
    fn csv_goes_on_in_the_next_file() {
        let mut import = import();
        import.feed(b"time,key\n1,a\n").unwrap();
        for next in [&b"time,key\n2,b\n3,"[..], b"4,c\n"] {
            import.next_file().unwrap();
            import.feed(next).unwrap();
        }
        let log = import.so_far().unwrap();
        assert_eq!((log.summary.clients.requests(), log.summary.unread), (4, 0));
    }

    #[test]
    fn a_stream_is_followed_to_its_end() {
        let text: String = (1..50).map(line).collect();
        let input = io::Cursor::new(text.trim_end().to_owned().into_bytes());
        let mut last = 0;
        let mut show = |read: Result<Imported, Failure>| {
            last = read.map_or(0, |log| log.summary.clients.requests());
            Ok(true)
        };
        let stream = Stream::new(pieces_of(input), Duration::ZERO);
        follow(import(), Input::Stream(stream), &mut || (), &mut show).unwrap();
        assert_eq!(last, 49);
    }

    /// However slowly the pieces come, they are not held up by reports.
    #[test]
    fn a_stream_waits_for_no_reports() {
        let (send, pieces) = sync_channel(0);
        let sender = thread::spawn(move || (1..50).all(|n| send.send(Ok(line(n).into())).is_ok()));
        let mut seen = Vec::new();
        let mut show = |read: Result<Imported, Failure>| {
            seen.push(read.map_or(0, |log| log.summary.clients.requests()));
            Ok(true)
        };
        let hour = Duration::from_secs(3600);
        let input = Input::Stream(Stream::new(pieces, hour));
        follow(import(), input, &mut || panic!("a stream is not slept for"), &mut show).unwrap();
        assert!(sender.join().unwrap());
        // The first report comes with the first piece, and the next at the end.
        assert_eq!(seen, [1, 49]);
    }

    #[test]
    fn a_report_fits_the_screen() {
        let report = "head\n1\n2\n3\nlong line\nend\n";
        assert_eq!(fit(report, 7, 20), report);
        assert_eq!(
            fit(report, 6, 20),
            "head\n... 2 lines that do not fit here\n3\nlong line\nend\n"
        );
        assert_eq!(fit(report, 6, 5), "head\n... 3 lines that do not fit here\nlong line\nend\n");
        for (rows, columns) in [(0, 0), (1, 80), (2, 80), (3, 1)] {
            assert!(fit(report, rows, columns).starts_with("head\n... "), "{rows} {columns}");
        }
    }
}
