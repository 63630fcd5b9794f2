//! With the feature `serde`: types with a text form are serialized as this text, so reading always uses the checks of
//! `FromStr`. Types that a dashboard shows are serialized field by field.

use super::{Limit, Per, Policy};
use crate::limit::any::AnyLimiter;
use crate::limit::exim::Mode;
use crate::limit::kept::Shape;
use crate::outcome::{Outcome, Quota};
use crate::rate::Rate;
use crate::share::Share;
use crate::time::{Span, Time};
use serde::de::{Deserialize, Deserializer, Error, Visitor};
use serde::ser::{Serialize, SerializeStruct, Serializer};

macro_rules! as_text {
    ($($type:ty = $what:literal),* $(,)?) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $type {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                struct Text;
                impl Visitor<'_> for Text {
                    type Value = $type;

                    fn expecting(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
                        f.write_str($what)
                    }

                    fn visit_str<E: Error>(self, text: &str) -> Result<$type, E> {
                        text.parse().map_err(E::custom)
                    }
                }
                deserializer.deserialize_str(Text)
            }
        }
    )*};
}

as_text! {
    Time = "a time in seconds, such as \"12.5\"",
    Span = "a span, such as \"1h30m\"",
    Rate = "a rate, such as \"10/1m\"",
    Mode = "leaky, strict or readonly",
    AnyLimiter = "a limiter, such as \"gcra 10/1s burst 20\"",
    Shape = "the shape of a state, such as \"exim/1m\"",
    Per = "the fields of a key, such as \"user+ip\" or \"all\"",
    Limit = "a limit, such as \"gcra 10/1s per user\"",
    Policy = "limits joined by &, such as \"gcra 10/1s per user & gcra 1000/1h per all\"",
    Share = "exact, leased 100ms or synced 1s",
}

macro_rules! as_limiters {
    ({} $($module:ident::$limiter:ident $($boxed:ident)?,)*) => {
        as_text! { $(crate::limit::$module::$limiter = "the text form of this limiter",)* }
    };
}

crate::limit::limiters_with_forms!(as_limiters! {} by_hour::ByHour,);

macro_rules! as_fields {
    ($($type:ident { $($field:ident),* })*) => {$(
        impl Serialize for $type {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                let count = [$(stringify!($field)),*].len();
                let mut fields = serializer.serialize_struct(stringify!($type), count)?;
                $(fields.serialize_field(stringify!($field), &self.$field)?;)*
                fields.end()
            }
        }
    )*};
}

as_fields! {
    Outcome { wait, level, limit }
    Quota { limit, remaining, reset }
}

#[cfg(feature = "rules")]
mod rules {
    use super::*;
    use crate::address::Networks;
    use crate::rules::{Exception, Load, Memory, OnStoreFailure, StoredKey, Throttle, TopKey};

    as_text! {
        Networks = "networks and addresses, such as \"10.0.0.0/8, 192.0.2.7\"",
        Load = "a load, such as \"42%\"",
        Throttle = "a throttle, such as \"soft 10%\"",
        OnStoreFailure = "allow, refuse or local",
    }

    as_fields! {
        Exception { limit, subject, limiter, until, by }
        Memory { keys, evicted }
        StoredKey { subject, rule }
        TopKey { key, events, error, outcome, time }
    }
}
