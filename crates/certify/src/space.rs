//! Numbers of cores of each cluster, and sets of clusters.

use crate::stage_rates::StageRates;

/// More clusters and accelerators have too many sets of them.
pub(crate) const MOST_UNITS: usize = 16;

/// States: cores used of each unit, the first one counting fastest, and the units of the last stage as a mask, where
/// that matters.
pub(crate) struct Space {
    strides: Vec<usize>,
    /// The cores of each number of them.
    decoded: Vec<Vec<usize>>,
    /// The cores of each unit packed into one number, with a bit to spare behind those of each unit.
    packed: Vec<u128>,
    /// Of each number, what the last unit adds to the others; of 0, nothing.
    added: Vec<Added>,
    /// All the bits to spare, and what is between all cores of a unit and its bit.
    spare: u128,
    room: u128,
    /// Sets of units of a last stage; only the empty one where it does not matter who sends.
    lasts: usize,
}

impl Space {
    pub(crate) fn of(rates: &StageRates<'_>) -> Self {
        let cores: Vec<usize> = rates.units.iter().map(|unit| unit.cores).collect();
        Self::with(&cores, rates.senders_matter())
    }

    fn with(cores: &[usize], senders_matter: bool) -> Self {
        let strides: Vec<usize> =
            (0..cores.len()).map(|unit| cores[..unit].iter().map(|cores| cores + 1).product()).collect();
        let lasts = if senders_matter { 1 << cores.len().min(MOST_UNITS) } else { 1 };
        let sizes: usize = cores.iter().map(|cores| cores + 1).product();
        let decode = |used: usize| {
            let digits = cores.iter().zip(&strides);
            digits.map(|(cores, stride)| used / stride % (cores + 1)).collect::<Vec<usize>>()
        };
        let decoded: Vec<Vec<usize>> = (0..sizes).map(decode).collect();
        let added = decoded.iter().enumerate().map(|(size, used)| Added::of(size, used, &strides)).collect();
        let fields = Fields::of(cores);
        let packed = decoded.iter().map(|used| fields.pack(used)).collect();
        Self { packed, spare: fields.spare(), room: fields.pack(&fields.rooms()), lasts, strides, decoded, added }
    }

    /// How many ways there are to use cores.
    pub(crate) fn sizes(&self) -> usize {
        self.decoded.len()
    }

    /// The number of these cores of each unit, which it has.
    pub(crate) fn encode(&self, cores: &[usize]) -> usize {
        cores.iter().zip(&self.strides).map(|(cores, stride)| cores * stride).sum()
    }

    /// The number of so many cores of one unit.
    pub(crate) fn encode_one(&self, unit: usize, cores: usize) -> usize {
        cores * self.strides[unit]
    }

    /// Sets of units that a last stage may have been on, as far as it matters.
    pub(crate) fn lasts(&self) -> usize {
        self.lasts
    }

    /// Whether some cores are among others.
    pub(crate) fn contains(&self, all: usize, some: usize) -> bool {
        ((self.packed[all] | self.spare) - self.packed[some]) & self.spare == self.spare
    }

    /// Whether there are as many cores as two numbers of them need together.
    pub(crate) fn have_room_for(&self, one: usize, other: usize) -> bool {
        (self.packed[one] + self.packed[other] + self.room) & self.spare == 0
    }

    /// The numbers of cores, but for none, that there is room for beside one of each unit of a set; with each, all that
    /// it contains, and these first.
    pub(crate) fn sizes_beside(&self, last: usize) -> Vec<usize> {
        let senders = Self::units_of(if self.lasts == 1 { 0 } else { last });
        let used: usize = senders.into_iter().map(|unit| self.strides[unit]).sum();
        (1..self.sizes()).filter(|&size| self.have_room_for(used, size)).collect()
    }

    /// These cores without one core of some unit, for each unit that has any.
    pub(crate) fn one_fewer(&self, size: usize) -> impl Iterator<Item = usize> {
        let used = self.decoded[size].iter().zip(&self.strides).filter(|(cores, _)| **cores > 0);
        used.map(move |(_, stride)| size - stride)
    }

    /// What the last unit adds to the others.
    pub(crate) fn last_added(&self, size: usize) -> Added {
        self.added[size]
    }

    /// The cores of each unit of their number.
    pub(crate) fn decode(&self, used: usize) -> &[usize] {
        &self.decoded[used]
    }

    /// The units of a set of them.
    pub(crate) fn units_of(mask: usize) -> Vec<usize> {
        (0..usize::BITS as usize).filter(|unit| mask >> unit & 1 == 1).collect()
    }

    /// What a stage on so many cores is to the next one.
    pub(crate) fn last_of(&self, size: usize) -> usize {
        let used = &self.decoded[size];
        let mask = (0..used.len()).filter(|&unit| used[unit] > 0).fold(0, |mask, unit| mask | 1 << unit);
        if self.lasts == 1 { 0 } else { mask }
    }
}

/// Cores of one unit beside those of the units before it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Added {
    pub(crate) unit: usize,
    pub(crate) cores: usize,
    /// The number of the others.
    pub(crate) to: usize,
}

impl Added {
    fn of(size: usize, used: &[usize], strides: &[usize]) -> Self {
        let unit = used.iter().rposition(|cores| *cores > 0).unwrap_or(0);
        let cores = used.get(unit).copied().unwrap_or(0);
        Self { unit, cores, to: size - cores * strides.get(unit).copied().unwrap_or(0) }
    }
}

/// Where the cores of each unit stand in one number.
struct Fields {
    cores: Vec<usize>,
    /// Bits before the bit to spare.
    widths: Vec<u32>,
}

impl Fields {
    fn of(cores: &[usize]) -> Self {
        let widths = cores.iter().map(|cores| usize::BITS - cores.leading_zeros()).collect();
        Self { cores: cores.to_vec(), widths }
    }

    fn pack(&self, used: &[usize]) -> u128 {
        let fields = used.iter().zip(&self.widths).rev();
        fields.fold(0, |all, (used, width)| all << (width + 1) | *used as u128)
    }

    fn spare(&self) -> u128 {
        let bits: Vec<usize> = self.widths.iter().map(|width| 1 << width).collect();
        self.pack(&bits)
    }

    fn rooms(&self) -> Vec<usize> {
        let room = |(cores, width): (&usize, &u32)| (1 << width) - 1 - cores;
        self.cores.iter().zip(&self.widths).map(room).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the packed numbers say is what a comparison unit by unit says.
    #[test]
    fn packed_numbers_compare_as_cores_do() {
        let cores = [1, 4, 3, 2];
        let space = Space::with(&cores, false);
        for one in 0..space.sizes() {
            for other in 0..space.sizes() {
                let pairs = || space.decoded[one].iter().zip(&space.decoded[other]);
                assert_eq!(space.contains(one, other), pairs().all(|(one, other)| other <= one));
                let fits = pairs().zip(&cores).all(|((one, other), cores)| one + other <= *cores);
                assert_eq!(space.have_room_for(one, other), fits);
            }
        }
    }
}
