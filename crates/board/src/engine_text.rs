//! Engines as text: names in files and on command lines.

use std::str::FromStr;

use crate::asked_engines::AskedEngines;
use crate::engine::{EngineName, EngineSet};
use crate::engine_label::{EngineLabel, MOST_BYTES};
use crate::error::BoardError;

impl TryFrom<Vec<EngineName>> for EngineSet {
    type Error = BoardError;

    fn try_from(engines: Vec<EngineName>) -> Result<Self, BoardError> {
        let is_repeated = |(place, engine): (usize, &EngineName)| engines[..place].contains(engine);
        if engines.is_empty() || engines.iter().enumerate().any(is_repeated) {
            let engines = engines.iter().map(ToString::to_string).collect();
            return Err(BoardError::Engines { engines });
        }
        Ok(Self(engines))
    }
}

/// Names with commas between them, and spaces where one likes; `all` stands for several, which all have to be there:
/// [`AskedEngines`] may do without one.
impl FromStr for EngineSet {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        Ok(text.parse::<AskedEngines>()?.engines().clone())
    }
}

/// The name of an engine; whether a board has one of that name is for the board to say.
impl FromStr for EngineName {
    type Err = BoardError;

    fn from_str(text: &str) -> Result<Self, BoardError> {
        match Self::known().find(|engine| engine.name().eq_ignore_ascii_case(text)) {
            Some(engine) => Ok(engine),
            None => EngineLabel::try_from(text).map(Self::Provider),
        }
    }
}

impl TryFrom<String> for EngineName {
    type Error = BoardError;

    fn try_from(text: String) -> Result<Self, BoardError> {
        text.parse()
    }
}

impl TryFrom<&str> for EngineLabel {
    type Error = BoardError;

    fn try_from(text: &str) -> Result<Self, BoardError> {
        let is_well_formed = text.starts_with(|first: char| first.is_ascii_alphabetic())
            && text.bytes().all(|byte| byte.is_ascii_alphanumeric());
        let mut bytes = [0; MOST_BYTES];
        match bytes.get_mut(..text.len()).filter(|_| is_well_formed) {
            Some(place) => place.copy_from_slice(text.as_bytes()),
            None => return Err(BoardError::EngineLabel { label: text.to_owned() }),
        }
        Ok(Self { bytes, length: u8::try_from(text.len()).unwrap_or_default() })
    }
}

impl TryFrom<String> for EngineLabel {
    type Error = BoardError;

    fn try_from(text: String) -> Result<Self, BoardError> {
        Self::try_from(text.as_str())
    }
}
