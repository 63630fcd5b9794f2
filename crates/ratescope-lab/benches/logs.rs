//! Prints how fast logs are read, in MB/s and beside the speed at which the lines alone are found.
//!
//! `cargo bench --bench logs --features lab,log`
//!
//! Everything is measured in turn, several times, on the same made-up logs in memory, with one thread; the median is
//! printed. `wc -l` reads the same text from a file. Each task says how many lines it saw, which is checked. Without
//! `--bench`, as `cargo test --benches` calls it, each is done once on a short log.

use memchr::memchr_iter;
use ratescope::{Span, Time};
use ratescope_lab::traffic::sample::{Sample, Style};
use ratescope_log::{HELD, Options, Order, Reader, Record, SLACK, Spread, recognize};
use std::fs;
use std::hint::black_box;
use std::process::{Command, Stdio};
use std::time::Instant;

/// How much is handed to a reader at once.
const PIECE: usize = 1 << 17;

/// Something to time: its name, the text that it reads, and how it counts the lines.
struct Task<'a> {
    name: String,
    text: &'a str,
    count: Box<dyn Fn(&str) -> u64 + 'a>,
}

fn main() {
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (lines, rounds) = if is_bench { (500_000, 9) } else { (2000, 1) };
    let logs = Style::ALL.map(|style| (style, log(style, lines)));
    let combined = &logs[0].1;
    let path = std::env::temp_dir().join(format!("ratescope-bench-{}.log", std::process::id()));
    fs::write(&path, combined).unwrap();
    let wc = || {
        let file = fs::File::open(&path).unwrap();
        let output = Command::new("wc").arg("-l").stdin(file).stderr(Stdio::null()).output();
        output.map_or(0, |out| String::from_utf8_lossy(&out.stdout).trim().parse().unwrap_or(0))
    };

    let task = |name: &str, text, count: Box<dyn Fn(&str) -> u64>| Task {
        name: name.to_owned(),
        text,
        count,
    };
    let mut tasks = vec![
        task(
            "finding lines",
            combined,
            Box::new(|text| memchr_iter(b'\n', text.as_bytes()).count() as u64),
        ),
        task("finding lines, each looked at", combined, Box::new(each_line)),
        Task {
            name: "wc -l, from a file".to_owned(),
            text: combined,
            count: Box::new(move |_| wc()),
        },
    ];
    for (style, text) in &logs {
        let name = format!("{style}: time and address");
        tasks.push(task(&name, text, Box::new(|text| read(text, &mut |r| see(r, &["ip"])))));
    }
    tasks.push(task(
        "combined: and path, status, bytes",
        combined,
        Box::new(|text| read(text, &mut |r| see(r, &["ip", "path", "status", "bytes"]))),
    ));
    tasks.push(task("combined: in order, and spread", combined, Box::new(ordered)));

    // The others are compared with the first.
    let wanted: Vec<String> =
        std::env::args().skip(1).filter(|arg| !arg.starts_with('-')).collect();
    let mut first = true;
    tasks.retain(|task| {
        let is_wanted =
            wanted.is_empty() || wanted.iter().any(|part| task.name.contains(part.as_str()));
        std::mem::take(&mut first) || is_wanted
    });

    let mut times = vec![Vec::new(); tasks.len()];
    for _ in 0..rounds {
        for (task, times) in tasks.iter().zip(&mut times) {
            let (clock, start) = (Clock::start(), Instant::now());
            let seen = (task.count)(black_box(task.text));
            // The time of other programs does not count.
            let is_other = task.name.starts_with("wc");
            times.push(if is_other { start.elapsed().as_secs_f64() } else { clock.seconds() });
            let expected = lines + u64::from(task.name.starts_with("csv"));
            assert!(seen == expected || seen == 0, "{}: {seen} of {expected} lines", task.name);
        }
    }
    let speed = |i: usize| tasks[i].text.len() as f64 / 1e6 / median(times[i].clone());
    println!("{:>8}  {:>9}", "MB/s", "of lines");
    for (i, task) in tasks.iter().enumerate() {
        println!("{:8.0}  {:8.1}%  {}", speed(i), speed(i) / speed(0) * 100.0, task.name);
    }
    let _ = fs::remove_file(&path);
}

/// Time that this thread was running, where the system tells (Linux does): others may use the machine.
struct Clock(Option<f64>, Instant);

impl Clock {
    fn start() -> Self {
        Clock(Self::running(), Instant::now())
    }

    fn running() -> Option<f64> {
        let text = fs::read_to_string("/proc/thread-self/schedstat").ok()?;
        text.split(' ').next()?.parse::<f64>().ok().map(|nanos| nanos / 1e9)
    }

    fn seconds(&self) -> f64 {
        let Clock(then, start) = self;
        let running = Self::running().zip(*then).map(|(now, then)| now - then);
        running.unwrap_or_else(|| start.elapsed().as_secs_f64())
    }
}

fn log(style: Style, lines: u64) -> String {
    let mut text = String::from(style.header());
    for entry in Sample::new(1, lines, Span::from_hours(48)).unwrap() {
        style.write(&entry, &mut text);
    }
    text
}

fn see(record: &Record<'_>, names: &[&str]) {
    for name in names {
        black_box(record.value(name));
    }
}

fn each_line(text: &str) -> u64 {
    let (mut from, mut count) = (0, 0);
    for end in memchr_iter(b'\n', text.as_bytes()) {
        black_box(&text.as_bytes()[from..end]);
        (from, count) = (end + 1, count + 1);
    }
    count
}

/// Reads a log, and says how many lines it had.
fn read(text: &str, on_event: &mut dyn FnMut(&Record<'_>)) -> u64 {
    let options = Options::default();
    let shape = recognize(text.as_bytes(), true, &options).unwrap().unwrap();
    let mut reader = Reader::new(&shape, &options).unwrap();
    for piece in text.as_bytes().chunks(PIECE) {
        reader.feed(piece, on_event).unwrap();
    }
    reader.finish(on_event).unwrap();
    let counts = reader.counts();
    assert_eq!((counts.unread, counts.events + counts.others), (0, counts.lines));
    counts.lines
}

fn ordered(text: &str) -> u64 {
    let mut order = Order::new(SLACK, HELD, Spread::Coarse);
    let mut last = Time::from_micros(i64::MIN);
    let mut see = |time: Time, _: &u32| last = black_box(time).max(last);
    let lines = read(text, &mut |record| {
        let length = record.value("ip").map_or(0, str::len) as u32;
        order.push(record.when(), size_of_val(&length), length, &mut see);
    });
    order.finish(&mut see);
    lines
}

fn median(mut numbers: Vec<f64>) -> f64 {
    numbers.sort_by(f64::total_cmp);
    numbers[numbers.len() / 2]
}
