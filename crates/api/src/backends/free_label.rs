//! Labels for accelerators that were found.

use millstream_board::Accelerator;

/// The label, with the first number from 2 on behind it if it is taken.
pub(super) fn free_label(known: &[Accelerator], label: &str) -> String {
    let is_free = |label: &String| known.iter().all(|accelerator| accelerator.label != *label);
    let numbered = (2_usize..).map(|number| format!("{label}{number}"));
    std::iter::once(label.to_owned()).chain(numbered).find(is_free).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use millstream_board::AcceleratorKind;

    use super::*;

    #[test]
    fn a_label_that_is_taken_gets_a_number() {
        let taken = ["N", "N2"].map(|label| Accelerator::new(label, AcceleratorKind::Dsp));
        assert_eq!(free_label(&taken, "N"), "N3");
        assert_eq!(free_label(&taken, "G"), "G");
    }
}
