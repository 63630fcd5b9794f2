//! YAML, as a tree whose nodes have their places.
//!
//! The text is split into events by [`granit_parser`], the parser of serde-saphyr: it forbids unsafe
//! code, is fuzzed, gives each event its place, and bounds nesting. Deserializing into types would
//! stop at the first mistake and could not suggest similar names. So the events are put into a tree
//! here, and [`TreeReader`](super::reader::TreeReader) reads the tree.
//!
//! # A budget against bombs
//! A text has at most [`LONGEST`] bytes, nests at most [`DEEPEST`] levels deep, and has at most
//! [`LARGEST`] nodes; a long text counts as several. An alias counts as all the nodes that it stands
//! for, before they are copied: ten lines of `&b [*a, *a, *a]` are refused and never expanded.

use super::error::{At, Mistake};
use granit_parser::{ErrorKind, Event, Marker, Parser, ScalarStyle, ScanError, Span, options};
use std::collections::HashMap;

/// The longest text, in bytes.
pub const LONGEST: usize = 1 << 20;

/// How deep lists and maps may be nested, with aliases expanded.
const DEEPEST: usize = 64;

/// The most texts, lists and maps, with aliases expanded.
const LARGEST: usize = 100_000;

/// The bytes of a text that count as one more node.
const LONG: usize = 64;

/// A text, a list or a map.
#[derive(Clone, Debug)]
pub struct Node {
    /// Where it begins.
    pub at: At,
    /// A text, a list or a map, with its content.
    pub kind: Kind,
    /// How many nodes it has, including itself.
    size: usize,
    /// How many levels it has, including itself.
    depth: usize,
}

/// The kind of a [`Node`].
#[derive(Clone, Debug)]
pub enum Kind {
    /// A text, also one that may mean a number.
    Text {
        /// The text.
        text: String,
        /// True without quotes: it may then mean null, yes or no.
        plain: bool,
        /// How many characters of quotes come before the text; `None` if the text differs from the source.
        quote: Option<usize>,
    },
    /// A list.
    List(Vec<Node>),
    /// The keys and values of a map, as they are written.
    Map(Vec<(Node, Node)>),
}

impl Node {
    /// The text, for errors; empty for a list or a map.
    pub fn word(&self) -> &str {
        match &self.kind {
            Kind::Text { text, .. } => text,
            Kind::List(_) | Kind::Map(_) => "",
        }
    }

    /// A word for its kind, for errors.
    pub(super) fn what(&self) -> &'static str {
        match &self.kind {
            _ if self.is_nothing() => "nothing",
            Kind::Text { .. } => "a text",
            Kind::List(_) => "a list",
            Kind::Map(_) => "a map",
        }
    }

    /// The value of a key, if it is a map.
    pub fn get(&self, key: &str) -> Option<&Node> {
        let Kind::Map(pairs) = &self.kind else { return None };
        pairs.iter().find(|(known, _)| known.word() == key).map(|(_, value)| value)
    }

    /// The items of a list; none of anything else.
    pub fn items(&self) -> &[Node] {
        match &self.kind {
            Kind::List(items) => items,
            _ => &[],
        }
    }

    /// True for null, as in `key:` or `key: null`.
    pub(super) fn is_nothing(&self) -> bool {
        const NOTHING: [&str; 5] = ["", "~", "null", "Null", "NULL"];
        matches!(&self.kind, Kind::Text { text, plain: true, .. } if NOTHING.contains(&text.as_str()))
    }

    /// True for null, an empty text or an empty list, which generated files write for absent settings.
    pub(super) fn is_empty(&self) -> bool {
        match &self.kind {
            Kind::Text { text, .. } => text.is_empty() || self.is_nothing(),
            Kind::List(items) => items.is_empty(),
            Kind::Map(_) => false,
        }
    }

    /// The place of the byte `byte` of its text.
    pub(super) fn at_byte(&self, byte: usize) -> At {
        match &self.kind {
            Kind::Text { text, quote: Some(quote), .. } => {
                let before = text.get(..byte).map_or(0, |before| before.chars().count());
                At { column: self.at.column + quote + before, ..self.at }
            }
            _ => self.at,
        }
    }
}

/// Reads a text of one document.
///
/// # Errors
/// The first mistake: the parser cannot continue after it.
pub fn read(text: &str) -> Result<Node, Mistake> {
    let whole = |problem: &str| Mistake::new(At { line: 1, column: 1 }, "", problem);
    if text.len() > LONGEST {
        return Err(whole("more than 1 MiB long"));
    }
    let options = options! { flow_nesting_limit: DEEPEST, block_nesting_limit: DEEPEST };
    let mut tree =
        Tree { source: text, open: Vec::new(), anchors: HashMap::new(), nodes: 0, root: None };
    for event in Parser::new_from_str_with_options(text, options) {
        let (event, span) = event.map_err(|error| unread(&error))?;
        tree.take(event, span)?;
    }
    tree.root.ok_or_else(|| {
        whole("there is nothing in it; write domain: web and, below it, limit: gcra 10/1m per ip")
    })
}

fn unread(error: &ScanError) -> Mistake {
    match error.kind() {
        ErrorKind::RecursionLimitExceeded => too_deep(at(error.marker())),
        _ => Mistake::new(at(error.marker()), "", error.info()),
    }
}

fn at(marker: &Marker) -> At {
    At { line: marker.line(), column: marker.col() + 1 }
}

/// A tree that grows with each event.
struct Tree<'a> {
    source: &'a str,
    /// The lists and maps that have not ended, the outermost first.
    open: Vec<Open>,
    anchors: HashMap<usize, Node>,
    nodes: usize,
    root: Option<Node>,
}

/// A list or map that has not ended, its anchor and, for a map, the key whose value comes next.
struct Open {
    at: At,
    anchor: usize,
    kind: Kind,
    key: Option<Node>,
}

impl Tree<'_> {
    fn take(&mut self, event: Event<'_>, span: Span) -> Result<(), Mistake> {
        let at = at(&span.start);
        let wrong = |problem: &str| Err(Mistake::new(at, "", problem));
        if event.tag().is_some_and(|tag| !tag.is_yaml_core_schema()) {
            return wrong("tags such as !this mean nothing here");
        }
        match event {
            Event::DocumentStart(..) if self.root.is_some() => {
                wrong("a second document begins here; write only one")
            }
            Event::Scalar(text, style, anchor, _) => {
                let written = span.slice(self.source).unwrap_or("");
                let unquoted = written.get(1..written.len().max(2) - 1);
                let quote = if *text == *written {
                    Some(0)
                } else {
                    (unquoted == Some(&*text)).then_some(1)
                };
                let plain = style == ScalarStyle::Plain;
                // For an empty value the parser returns "~".
                let text = if written.is_empty() { String::new() } else { text.into_owned() };
                let kind = Kind::Text { text, plain, quote };
                let node = Node::new(at, kind);
                let new = node.size;
                self.add(node, new, anchor)
            }
            Event::SequenceStart(_, anchor, _) => self.begin(at, anchor, Kind::List(Vec::new())),
            Event::MappingStart(_, anchor, _) => self.begin(at, anchor, Kind::Map(Vec::new())),
            Event::SequenceEnd | Event::MappingEnd => match self.open.pop() {
                // Its items are counted already.
                Some(Open { at, anchor, kind: Kind::Map(pairs), .. }) => {
                    self.add(Node::new(at, Kind::Map(merged(pairs)?)), 1, anchor)
                }
                Some(Open { at, anchor, kind, .. }) => self.add(Node::new(at, kind), 1, anchor),
                None => Ok(()),
            },
            Event::Alias(anchor) => match self.anchors.get(&anchor) {
                Some(node) if self.nodes + node.size > LARGEST => Err(too_large(at)),
                Some(node) => self.add(node.clone(), node.size, 0),
                None => wrong("an alias within what it stands for"),
            },
            _ => Ok(()),
        }
    }

    fn begin(&mut self, at: At, anchor: usize, kind: Kind) -> Result<(), Mistake> {
        self.open.push(Open { at, anchor, kind, key: None });
        Ok(())
    }

    /// Adds a node to the innermost open list or map; the tree grows by `new` nodes.
    fn add(&mut self, node: Node, new: usize, anchor: usize) -> Result<(), Mistake> {
        let kept = if anchor == 0 { 0 } else { node.size };
        self.nodes += new + kept;
        if self.nodes > LARGEST {
            return Err(too_large(node.at));
        }
        if self.open.len() + node.depth > DEEPEST {
            return Err(too_deep(node.at));
        }
        if anchor != 0 {
            self.anchors.insert(anchor, node.clone());
        }
        match self.open.last_mut() {
            None => self.root = Some(node),
            Some(Open { kind: Kind::List(items), .. }) => items.push(node),
            Some(Open { kind: Kind::Map(pairs), key, .. }) => match key.take() {
                None => *key = Some(node),
                Some(key) => pairs.push((key, node)),
            },
            Some(Open { kind: Kind::Text { .. }, .. }) => {}
        }
        Ok(())
    }
}

/// The pairs of a map, with those of the maps under its merge keys (`<<: *usual`, of YAML 1.1) whose keys it does not have.
/// Of several such maps, the first has precedence.
fn merged(pairs: Vec<(Node, Node)>) -> Result<Vec<(Node, Node)>, Mistake> {
    let is_merge =
        |key: &Node| matches!(&key.kind, Kind::Text { text, plain: true, .. } if text == "<<");
    if !pairs.iter().any(|(key, _)| is_merge(key)) {
        return Ok(pairs);
    }
    let (merges, mut all): (Vec<_>, Vec<_>) = pairs.into_iter().partition(|(key, _)| is_merge(key));
    for (_, value) in merges {
        let maps = match &value.kind {
            Kind::List(maps) => maps.as_slice(),
            _ => core::slice::from_ref(&value),
        };
        for map in maps {
            let Kind::Map(pairs) = &map.kind else {
                let problem = "<< is followed by a map or a list of maps, as in <<: *usual";
                return Err(Mistake::new(map.at, map.word(), problem));
            };
            for (key, value) in pairs {
                if !all.iter().any(|(known, _)| known.word() == key.word()) {
                    all.push((key.clone(), value.clone()));
                }
            }
        }
    }
    Ok(all)
}

fn too_deep(at: At) -> Mistake {
    Mistake::new(at, "", format!("more than {DEEPEST} levels deep"))
}

fn too_large(at: At) -> Mistake {
    Mistake::new(
        at,
        "",
        format!("more than {LARGEST} texts, lists and maps, with aliases written out"),
    )
}

impl Node {
    fn new(at: At, kind: Kind) -> Self {
        let mut size = 1;
        let mut depth = 0;
        let mut count = |node: &Node| {
            size += node.size;
            depth = depth.max(node.depth);
        };
        match &kind {
            Kind::Text { text, .. } => size += text.len() / LONG,
            Kind::List(items) => items.iter().for_each(count),
            Kind::Map(pairs) => pairs.iter().for_each(|(key, value)| {
                count(key);
                count(value);
            }),
        }
        Node { at, kind, size, depth: depth + 1 }
    }
}
