//! Evaluates a question for several values of a key.

use wordline_nand::cell::CellSet;

use super::answer::Evaluation;
use super::question::{KEY_AND_VALUE, Question, invalid_key};
use crate::error::Result;

/// Evaluates `set` for each value of a key. `first` is the key and its values, separated by commas. `others`
/// are arguments for all values. Returns the key, and each value with its evaluation.
///
/// # Errors
/// If an argument is not a key with a value, or a question does not fit the set.
pub fn evaluate_series(
    set: &CellSet,
    first: &str,
    others: &[String],
    seed: u64,
) -> Result<(String, Vec<(String, Evaluation)>)> {
    let (key, values) = first.split_once('=').ok_or_else(|| invalid_key(first, KEY_AND_VALUE))?;
    let answer = |value: &str| {
        let keys = [&[format!("{key}={value}")], others].concat();
        Ok((value.to_owned(), Evaluation::of(set, &Question::of_keys(&keys)?, seed)?))
    };
    Ok((key.to_owned(), values.split(',').map(answer).collect::<Result<_>>()?))
}
