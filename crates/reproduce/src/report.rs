use millstream_report::Table;

/// What kind of number ours is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Computed from coefficients or counts that the paper prints.
    Computed,
    /// Computed from our own model of the same network.
    Counted,
    /// Fitted to data that was drawn from the paper's model.
    Fitted,
    /// Computed from costs that are calibrated to some measurements that the paper or others published; other numbers are compared.
    Calibrated,
    /// Computed here from speeds that we assume, because the paper prints none.
    Assumed,
}

/// Which tables and figures are wanted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Selection {
    /// Only the table of this number.
    pub table: Option<u32>,
    /// Only the figure of this number.
    pub figure: Option<u32>,
}

impl Selection {
    /// Whether a table is among them.
    pub fn wants_table(self, number: u32) -> bool {
        self == Self::default() || self.table == Some(number)
    }

    /// Whether a section is, by its title.
    pub(crate) fn wants(self, title: &str) -> bool {
        let is = |kind: &str, number: Option<u32>| {
            number.is_some_and(|number| title.starts_with(&format!("{kind} {number}:")))
        };
        self == Self::default() || is("Table", self.table) || is("Figure", self.figure)
    }
}

impl Kind {
    /// The kind in words.
    pub fn words(self) -> &'static str {
        match self {
            Self::Computed => "computed from what the paper prints",
            Self::Counted => "counted in our own networks",
            Self::Fitted => "fitted to samples drawn from the paper's model",
            Self::Calibrated => "computed from costs calibrated to published measurements",
            Self::Assumed => "computed from speeds that are assumed",
        }
    }
}

/// A number of ours that the paper has as well.
#[derive(Debug, Clone, PartialEq)]
pub struct Claim {
    /// What the number is.
    pub what: String,
    /// Ours.
    pub ours: f64,
    /// The paper's: a single number as an empty range.
    pub paper: [f64; 2],
    /// How far ours may be outside the range, relative to its nearer end.
    pub tolerance: f64,
}

impl Claim {
    /// How far ours is outside the paper's range, relative to the nearer end; 0 within.
    pub fn difference(&self) -> f64 {
        let [low, high] = self.paper;
        if self.ours < low {
            self.ours / low - 1.0
        } else if self.ours > high {
            self.ours / high - 1.0
        } else {
            0.0
        }
    }

    /// Whether the difference is tolerated.
    pub fn holds(&self) -> bool {
        self.difference().abs() <= self.tolerance
    }
}

/// One table or figure of a paper.
#[derive(Debug)]
pub struct Section {
    /// Which one, and what it shows.
    pub title: String,
    /// What kind of numbers ours are.
    pub kind: Kind,
    /// Ours beside the paper's.
    pub table: Table,
    /// What to know when reading it.
    pub notes: Vec<String>,
    /// The numbers that are held to the paper's.
    pub claims: Vec<Claim>,
}

/// A drawing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Figure {
    /// Name of the file, without a folder.
    pub file: String,
    /// The drawing.
    pub svg: String,
}

/// Everything that is computed for one paper.
#[derive(Debug)]
pub struct Reproduction {
    /// The paper.
    pub paper: String,
    /// Its tables and figures.
    pub sections: Vec<Section>,
    /// Drawings of its figures.
    pub figures: Vec<Figure>,
}

impl Reproduction {
    /// Claims that do not hold.
    pub fn misses(&self) -> impl Iterator<Item = &Claim> {
        self.sections.iter().flat_map(|section| &section.claims).filter(|claim| !claim.holds())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_count_from_the_nearer_end() {
        let claim = |ours: f64| Claim { what: "speedup".into(), ours, paper: [2.0, 4.0], tolerance: 0.03 };
        assert_eq!(claim(3.0).difference(), 0.0);
        assert!((claim(1.9).difference() + 0.05).abs() < 1e-12 && !claim(1.9).holds());
        assert!((claim(4.1).difference() - 0.025).abs() < 1e-12 && claim(4.1).holds());
    }
}
