//! Measured phases of convolutions on an accelerator, as a table.

use std::collections::HashMap;

use csv::{ReaderBuilder, StringRecord, Trim};

use crate::error::PredictError;
use crate::published::{AcceleratorLatency, AcceleratorSample, Coherence, ConvolutionSize};

/// Sizes that every table has, in elements.
const SIZES: [&str; 4] = ["input_elements", "filter_elements", "output_elements", "filters"];
/// May be left out where nothing is normalised.
const NORMALISATION: &str = "normalisation_elements";
/// Phases that every table has, in seconds.
const PHASES: [&str; 2] = ["computation_seconds", "transfer_seconds"];
/// Phases that are left out together where the interconnect keeps caches coherent.
const COHERENCE: [&str; 2] = ["flush_seconds", "invalidation_seconds"];
/// The whole, which nothing is fitted to.
const TOTAL: &str = "total_seconds";
/// What a row is, for people.
const NAME: &str = "name";

/// Measured phases of convolutions on an accelerator, from a table with a row for each:
///
/// | column | of the co-scheduling paper | unit |
/// |---|---|---|
/// | `input_elements` | Size_IFMs: all input feature maps | elements |
/// | `filter_elements` | Size_FT: one filter, height x width x input channels | elements |
/// | `output_elements` | Size_OFM: one output feature map, height x width | elements |
/// | `filters` | N_F: output channels that were made | |
/// | `normalisation_elements` | Size_gamma + Size_beta; may be left out | elements |
/// | `computation_seconds` | L_comp (equation 3) | seconds |
/// | `transfer_seconds` | L_tran (equation 4) | seconds |
/// | `flush_seconds` | L_fl (equation 6); left out with the next if the interconnect keeps caches coherent | seconds |
/// | `invalidation_seconds` | L_inv (equation 7) | seconds |
/// | `total_seconds` | L_ACC (equation 9), to compare with; may be left out | seconds |
/// | `name` | what the row is, for people; may be left out | |
///
/// ```
/// use millstream_predict::published::{Coherence, Phases};
///
/// let text = "input_elements,filter_elements,output_elements,filters,computation_seconds,transfer_seconds\n\
///             50176,144,3136,64,0.65,0.0027\n";
/// let phases = Phases::from_csv(text)?;
/// assert_eq!((phases.samples.len(), phases.coherence), (1, Coherence::Interconnect));
/// let error = Phases::from_csv("filters,name\n64,first\n").unwrap_err();
/// assert!(error.to_string().contains("no column 'input_elements'"));
/// # Ok::<(), millstream_predict::PredictError>(())
/// ```
#[derive(Debug, Clone, PartialEq)]
pub struct Phases {
    /// The rows. The total is not a number where the table has none.
    pub samples: Vec<AcceleratorSample>,
    /// Whether caches are flushed and invalidated by software, which is so if the table has these columns.
    pub coherence: Coherence,
}

impl Phases {
    /// Reads a table with a header, fields divided by commas. Lines that begin with `#` are for people.
    ///
    /// # Errors
    /// [`PredictError::Columns`] if one lacks or is not known, [`PredictError::Cell`] with line and column of what is
    /// no number, or one that can't be, [`PredictError::Rows`] without any.
    pub fn from_csv(text: &str) -> Result<Self, PredictError> {
        check_blank_lines(text)?;
        let text = text.trim_start_matches('\u{feff}');
        let builder =
            ReaderBuilder::new().flexible(true).trim(Trim::All).comment(Some(b'#')).from_reader(text.as_bytes());
        let mut reader = builder;
        let header = reader.headers().map_err(|error| unreadable(&error))?.clone();
        let columns = columns(&header)?;
        let coherence = if columns.contains_key(COHERENCE[0]) { Coherence::Software } else { Coherence::Interconnect };
        let mut samples = Vec::new();
        for record in reader.records() {
            let record = record.map_err(|error| unreadable(&error))?;
            samples.push(Row { columns: &columns, record: &record, width: header.len() }.sample()?);
        }
        if samples.is_empty() {
            return Err(PredictError::Rows { detail: "there are none below the header".to_owned() });
        }
        Ok(Self { samples, coherence })
    }
}

fn unreadable(error: &csv::Error) -> PredictError {
    PredictError::Rows { detail: error.to_string() }
}

/// A line without anything between others is more likely a mistake than meant.
fn check_blank_lines(text: &str) -> Result<(), PredictError> {
    let mut blank = None;
    for (index, line) in text.lines().enumerate() {
        match (line.trim().is_empty(), blank) {
            (true, None) => blank = Some(index + 1),
            (false, Some(line)) => {
                return Err(PredictError::Rows { detail: format!("line {line} is empty; take it out") });
            }
            _ => {}
        }
    }
    Ok(())
}

/// Where each column is.
fn columns(header: &StringRecord) -> Result<HashMap<&str, usize>, PredictError> {
    let required = SIZES.into_iter().chain(PHASES);
    let known: Vec<&str> = required.clone().chain(COHERENCE).chain([NORMALISATION, TOTAL, NAME]).collect();
    let refused = |detail: String| Err(PredictError::Columns { detail, known: known.join(", ") });
    let mut columns = HashMap::new();
    for (position, column) in header.iter().enumerate() {
        if !known.contains(&column) {
            return refused(format!("the column '{column}' is not known"));
        }
        if columns.insert(column, position).is_some() {
            return refused(format!("the column '{column}' is there twice"));
        }
    }
    let missing: Vec<String> =
        required.filter(|column| !columns.contains_key(column)).map(|column| format!("'{column}'")).collect();
    if !missing.is_empty() {
        return refused(format!("there is no column {}", missing.join(", ")));
    }
    match COHERENCE.map(|column| columns.contains_key(column)) {
        [true, false] | [false, true] => refused(format!(
            "there is one of '{}' and '{}'; give both, or neither if the interconnect keeps caches coherent",
            COHERENCE[0], COHERENCE[1]
        )),
        _ => Ok(columns),
    }
}

/// A line of the table.
struct Row<'a> {
    columns: &'a HashMap<&'a str, usize>,
    record: &'a StringRecord,
    width: usize,
}

impl Row<'_> {
    fn sample(&self) -> Result<AcceleratorSample, PredictError> {
        if self.record.len() > self.width {
            return Err(PredictError::Rows {
                detail: format!(
                    "line {} has {} fields, and there are {} columns",
                    self.line(),
                    self.record.len(),
                    self.width
                ),
            });
        }
        let [input, filter, output, filters] = SIZES.map(|column| self.size(column, 1));
        let normalisation = if self.has(NORMALISATION) { self.size(NORMALISATION, 0)? } else { 0 };
        let size =
            ConvolutionSize { input: input?, filter: filter?, output: output?, normalisation, filters: filters? };
        let optional = |column: &str| if self.has(column) { self.seconds(column) } else { Ok(0.0) };
        let latency = AcceleratorLatency {
            computation_seconds: self.seconds(PHASES[0])?,
            transfer_seconds: self.seconds(PHASES[1])?,
            flush_seconds: optional(COHERENCE[0])?,
            invalidation_seconds: optional(COHERENCE[1])?,
            total_seconds: if self.has(TOTAL) { self.seconds(TOTAL)? } else { f64::NAN },
        };
        Ok(AcceleratorSample { size, latency })
    }

    fn has(&self, column: &str) -> bool {
        self.columns.contains_key(column)
    }

    fn line(&self) -> u64 {
        self.record.position().map_or(0, csv::Position::line)
    }

    fn refused(&self, column: &str, detail: String) -> PredictError {
        PredictError::Cell { line: self.line(), column: column.to_owned(), detail }
    }

    fn field(&self, column: &str) -> Result<&str, PredictError> {
        let field = self.columns.get(column).and_then(|&position| self.record.get(position)).unwrap_or_default();
        if field.is_empty() { Err(self.refused(column, "is empty".to_owned())) } else { Ok(field) }
    }

    fn size(&self, column: &str, least: u64) -> Result<u64, PredictError> {
        /// Products of two sizes stay numbers.
        const MOST: u64 = 1 << 31;
        let field = self.field(column)?;
        let size = field.parse().ok().filter(|size| (least..=MOST).contains(size));
        size.ok_or_else(|| self.refused(column, format!("is '{field}', must be a whole number from {least} to {MOST}")))
    }

    fn seconds(&self, column: &str) -> Result<f64, PredictError> {
        let field = self.field(column)?;
        let seconds = field.parse().ok().filter(|seconds: &f64| seconds.is_finite() && *seconds > 0.0);
        seconds.ok_or_else(|| self.refused(column, format!("is '{field}', must be a number of seconds above 0")))
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a test fails by panicking")]

    use super::*;

    const HEADER: &str = "input_elements,filter_elements,output_elements,filters,computation_seconds,transfer_seconds";

    #[test]
    fn columns_come_in_any_order_and_say_what_the_platform_does() {
        let text = format!(
            "\u{feff}name, flush_seconds,{HEADER},invalidation_seconds,total_seconds,normalisation_elements\n\
            # by hand\nfirst, 1e-4 ,100,27,64,8,0.5,0.25,2e-4,0.7503,16\n\n"
        );
        let phases = Phases::from_csv(&text).unwrap();
        assert_eq!(phases.coherence, Coherence::Software);
        let size = ConvolutionSize { input: 100, filter: 27, output: 64, normalisation: 16, filters: 8 };
        let latency = AcceleratorLatency {
            computation_seconds: 0.5,
            transfer_seconds: 0.25,
            flush_seconds: 1e-4,
            invalidation_seconds: 2e-4,
            total_seconds: 0.7503,
        };
        assert_eq!(phases.samples, [AcceleratorSample { size, latency }]);
    }

    #[test]
    fn what_is_wrong_is_told_with_line_and_column() {
        let row = "100,27,64,8,0.5,0.25";
        let cases = [
            (String::new(), "no column 'input_elements', 'filter_elements'"),
            (HEADER.replace("filters,", ""), "there is no column 'filters'; the columns are input_elements, "),
            (format!("{HEADER},weight\n"), "the column 'weight' is not known"),
            (format!("{HEADER},filters\n"), "the column 'filters' is there twice"),
            (format!("{HEADER},flush_seconds\n{row},1"), "give both, or neither"),
            (format!("{HEADER}\n"), "there are none below the header"),
            (format!("{HEADER}\n{row}\n\n{row}\n"), "line 3 is empty"),
            (format!("{HEADER}\n{row}\n{row},7\n"), "line 3 has 7 fields"),
            (format!("{HEADER}\n{row}\n,,,,,\n"), "line 3, column 'input_elements': is empty"),
            (format!("{HEADER}\n100,27,64,8,0.5\n"), "line 2, column 'transfer_seconds': is empty"),
            (
                format!("{HEADER}\n{}\n", row.replace("0.25", "-0.25")),
                "line 2, column 'transfer_seconds': is '-0.25', must",
            ),
            (format!("{HEADER}\n{}\n", row.replace("0.5", "nan")), "line 2, column 'computation_seconds': is 'nan'"),
            (format!("{HEADER}\n{}\n", row.replace(",8,", ",0,")), "line 2, column 'filters': is '0', must be a whole"),
            (format!("{HEADER}\n{}\n", row.replace("27", "2.5")), "line 2, column 'filter_elements': is '2.5'"),
        ];
        for (text, expected) in cases {
            let message = Phases::from_csv(&text).unwrap_err().to_string();
            assert!(message.contains(expected), "{expected}: {message}");
        }
    }
}
