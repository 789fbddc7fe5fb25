//! Accelerators by the co-scheduling paper's model, beside what is known of a board.

use millstream_board::{Board, BoardDocument, DocumentError};

use crate::calibration::{AcceleratorCostModel, AcceleratorCosts};
use crate::error::PredictError;
use crate::models::CostModels;
use crate::published::AcceleratorModel;

impl CostModels {
    /// The same with the costs of one of a board's accelerators by the co-scheduling paper's model: convolutions take
    /// what its equations 3 to 9 say, and nothing else runs there. What was known of that accelerator is replaced. The
    /// models' cores must be those of the board; the models may be of the board without the accelerator, as a profile
    /// of its cores is.
    ///
    /// # Errors
    /// [`PredictError::NoAccelerator`] if the board has none of this label, [`PredictError::OtherBoard`] if the models
    /// are of other cores.
    pub fn with_accelerator(self, board: &Board, label: &str, model: AcceleratorModel) -> Result<Self, PredictError> {
        if board.accelerator(label).is_none() {
            return Err(no_accelerator(board, Some(label)));
        }

        let cores_of = |board: &Board| {
            let (accelerators, links) = (Vec::new(), Vec::new());
            Board::try_from(BoardDocument { accelerators, links, ..board.to_document() })
        };
        let invalid = |error: &dyn std::fmt::Display| DocumentError::invalid::<Self>("board", error.to_string());
        let known = Board::try_from(self.board.clone()).map_err(|error| invalid(&error))?;
        let [known_cores, wanted] = [&known, board].map(|board| cores_of(board).map(|cores| cores.fingerprint()));
        if known_cores.map_err(|error| invalid(&error))? != wanted.map_err(|error| invalid(&error))? {
            return Err(PredictError::OtherBoard {
                what: "cost models are",
                profile: known.name().to_owned(),
                profile_fingerprint: self.board_fingerprint,
                board: board.name().to_owned(),
                board_fingerprint: board.fingerprint(),
            });
        }

        let costs = AcceleratorCosts {
            label: label.to_owned(),
            model: AcceleratorCostModel::ProcessingElements(model),
            unsupported: Vec::new(),
        };
        let mut models = Self { board: board.to_document(), board_fingerprint: board.fingerprint(), ..self };
        models.accelerators.retain(|known| known.label != label && board.accelerator(&known.label).is_some());
        models.accelerators.push(costs);
        // Factors of networks are beside what was known before.
        models.networks.retain(|network| network.processor.cluster != label);
        Ok(models)
    }
}

/// The accelerator of this label, or the only one that a board has.
///
/// # Errors
/// [`PredictError::NoAccelerator`] if there is none, or several and no label; [`PredictError::ProcessingElements`] if
/// the board does not say how many channels it makes at a time.
pub fn accelerator_of<'a>(board: &'a Board, label: Option<&str>) -> Result<(&'a str, u64), PredictError> {
    let found = match (label, board.accelerators()) {
        (Some(label), _) => board.accelerator(label),
        (None, [only]) => Some(only),
        (None, _) => None,
    };
    let accelerator = found.ok_or_else(|| no_accelerator(board, label))?;
    let elements = accelerator.processing_elements.filter(|&elements| elements > 0);
    let unknown =
        || PredictError::ProcessingElements { label: accelerator.label.clone(), board: board.name().to_owned() };
    Ok((&accelerator.label, u64::from(elements.ok_or_else(unknown)?)))
}

pub(crate) fn no_accelerator(board: &Board, label: Option<&str>) -> PredictError {
    let labels: Vec<&str> = board.accelerators().iter().map(|accelerator| accelerator.label.as_str()).collect();
    let detail = match (label, labels.as_slice()) {
        (_, []) => "has no accelerator; add it to `accelerators` of the board file".to_owned(),
        (Some(label), labels) => format!("has no accelerator '{label}'; it has {}", labels.join(", ")),
        (None, labels) => format!("has several accelerators; say which of {}", labels.join(", ")),
    };
    PredictError::NoAccelerator { board: board.name().to_owned(), detail }
}
