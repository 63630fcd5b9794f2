//! The messages as JSON, where serde alone would differ: enums by name or number, numbers as texts, durations in
//! seconds.

use core::fmt::{Display, Formatter};
use prost_types::value::Kind;
use prost_types::{Duration, Struct, Value};
use serde::de::{DeserializeOwned, Error, IntoDeserializer, Visitor};
use serde::{Deserializer, Serialize, Serializer};
use serde_json::Value as Json;

pub(super) fn as_name<S: Serializer, E: TryFrom<i32> + Serialize>(
    value: &i32,
    to: S,
) -> Result<S::Ok, S::Error> {
    match E::try_from(*value) {
        Ok(value) => value.serialize(to),
        Err(_) => to.serialize_i32(*value),
    }
}

pub(super) fn as_seconds<S: Serializer>(
    value: &Option<Duration>,
    to: S,
) -> Result<S::Ok, S::Error> {
    match value {
        Some(value) => to.collect_str(value),
        None => to.serialize_none(),
    }
}

pub(super) fn as_metadata<S: Serializer>(value: &Option<Struct>, to: S) -> Result<S::Ok, S::Error> {
    value.as_ref().map(as_map).serialize(to)
}

fn as_map(fields: &Struct) -> Json {
    let each = fields.fields.iter().map(|(name, value)| (name.clone(), as_json(value)));
    Json::Object(each.collect())
}

fn as_json(value: &Value) -> Json {
    match &value.kind {
        None | Some(Kind::NullValue(_)) => Json::Null,
        Some(Kind::NumberValue(number)) => (*number).into(),
        Some(Kind::StringValue(text)) => text.as_str().into(),
        Some(Kind::BoolValue(is)) => (*is).into(),
        Some(Kind::StructValue(fields)) => as_map(fields),
        Some(Kind::ListValue(list)) => list.values.iter().map(as_json).collect(),
    }
}

pub(super) fn is_zero(value: &u32) -> bool {
    *value == 0
}

/// Reads a whole number, also as a text; null is 0.
pub(super) fn number<'de, D: Deserializer<'de>>(from: D) -> Result<u32, D::Error> {
    maybe_number(from).map(Option::unwrap_or_default)
}

/// Reads a whole number, also as a text; null is none.
pub(super) fn maybe_number<'de, D: Deserializer<'de>, N: TryFrom<u64>>(
    from: D,
) -> Result<Option<N>, D::Error> {
    let Some(number) = from.deserialize_any(Number)? else { return Ok(None) };
    N::try_from(number).map(Some).map_err(|_| D::Error::custom(format!("{number} is too large")))
}

/// Reads the name of a value of an enum, or its number; null is 0.
pub(super) fn name<'de, D: Deserializer<'de>, E>(from: D) -> Result<i32, D::Error>
where
    E: DeserializeOwned + Into<i32>,
{
    struct Name<E>(core::marker::PhantomData<E>);
    impl<E: DeserializeOwned + Into<i32>> Visitor<'_> for Name<E> {
        type Value = i32;

        fn expecting(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
            f.write_str("a name such as MINUTE, or its number")
        }

        fn visit_str<R: Error>(self, name: &str) -> Result<i32, R> {
            let known = E::deserialize(name.into_deserializer()).map(E::into);
            known.map_err(|_: R| R::custom(format!("{name:?} is not a known name")))
        }

        fn visit_u64<R: Error>(self, number: u64) -> Result<i32, R> {
            i32::try_from(number).map_err(|_| R::custom(format!("{number} is too large")))
        }

        fn visit_unit<R: Error>(self) -> Result<i32, R> {
            Ok(0)
        }
    }
    from.deserialize_any(Name::<E>(core::marker::PhantomData))
}

/// Reads a whole number that is not negative.
struct Number;

impl Visitor<'_> for Number {
    type Value = Option<u64>;

    fn expecting(&self, f: &mut Formatter<'_>) -> core::fmt::Result {
        f.write_str("a whole number that is not negative")
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Option<u64>, E> {
        Ok(Some(number))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Option<u64>, E> {
        u64::try_from(number).map(Some).map_err(|_| wrong(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Option<u64>, E> {
        text.parse().map(Some).map_err(|_| wrong(text))
    }

    fn visit_unit<E: Error>(self) -> Result<Option<u64>, E> {
        Ok(None)
    }
}

fn wrong<E: Error>(read: impl Display) -> E {
    E::custom(format!("{read} is not a whole number that is not negative"))
}
