//! The site: its pages and its responses.

use super::Random;
use core::fmt;

/// The probability that another page follows a page: a visit has three pages in the mean.
pub(super) const GO_ON: f64 = 2.0 / 3.0;

/// The mean number of requests in a visit: three pages, each with two pictures.
pub(super) const PER_VISIT: f64 = 9.0;

/// The number of articles. Each has 0 to 4 pictures, depending on its own number.
const ARTICLES: u32 = 2000;

/// A page or a picture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Page {
    place: Place,
    number: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Place {
    Home,
    Article,
    Search,
    Picture,
    Login,
    Feed,
    Health,
}

/// A random page among those that people read. Old articles are read less than new ones.
pub(super) fn page(random: &mut Random) -> Page {
    match random.uniform() {
        x if x < 0.15 => Page { place: Place::Home, number: 2 },
        x if x < 0.25 => Page { place: Place::Search, number: below(random, 300) },
        _ => {
            let age = random.uniform() * random.uniform();
            Page { place: Place::Article, number: (age * f64::from(ARTICLES)) as u32 }
        }
    }
}

/// A random whole number from 0 to `count` - 1.
pub(super) fn below(random: &mut Random, count: u32) -> u32 {
    ((1.0 - random.uniform()) * f64::from(count)) as u32
}

impl Page {
    pub(super) const LOGIN: Page = Page { place: Place::Login, number: 0 };
    pub(super) const FEED: Page = Page { place: Place::Feed, number: 0 };
    pub(super) const HEALTH: Page = Page { place: Place::Health, number: 0 };

    /// The number of pictures on the page.
    pub(super) fn pictures(self) -> u8 {
        match self.place {
            Place::Home | Place::Article => (self.number % 5) as u8,
            _ => 2,
        }
    }

    /// The picture of the page with this number, from 1.
    pub(super) fn picture(self, number: u8) -> Page {
        let number = self.number * 8 + u32::from(number);
        Page { place: Place::Picture, number }
    }

    /// The status of the response and its length in bytes.
    pub(super) fn answer(self, random: &mut Random) -> (u16, u32) {
        let about = |mean: f64, random: &mut Random| (mean * (0.5 + random.exponential())) as u32;
        match (self.place, random.uniform()) {
            (Place::Health, _) => (200, 2),
            (_, x) if x < 0.002 => (500, 170),
            (Place::Article | Place::Picture, x) if x < 0.015 => (404, 153),
            (Place::Picture | Place::Feed, x) if x < 0.3 => (304, 0),
            (Place::Picture, _) => (200, about(48_000.0, random)),
            (Place::Feed, _) => (200, 61_344),
            _ => (200, about(9_000.0, random)),
        }
    }
}

/// Writes the path of a request.
impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.number;
        match self.place {
            Place::Home => f.write_str("/"),
            Place::Article => write!(f, "/articles/{number}"),
            Place::Search => write!(f, "/search?q=word{number}"),
            Place::Picture => write!(f, "/static/img/{number}.webp"),
            Place::Login => f.write_str("/login"),
            Place::Feed => f.write_str("/feed.xml"),
            Place::Health => f.write_str("/health"),
        }
    }
}
