//! What moving values takes, as a table has it: transfers between processors, hand-overs between stages, and ways into
//! and out of memories.

use crate::hand_over::{HandOver, LinkCost, MemoryAccess, within_a_day};
use crate::nanoseconds::Nanoseconds;
use crate::table::{ClassId, CostTable};
use crate::transfer::{BlockedEnd, TransferModel};

impl CostTable {
    /// Time until a value made on a processor of class `from` is there on another processor, of class `to`. Both may be
    /// of the same class.
    pub fn transfer(&self, from: ClassId, to: ClassId, bytes: u64) -> Nanoseconds {
        within_a_day(self.transfers[self.transfer_cell(from, to)].seconds(bytes))
    }

    /// Which end a transfer occupies.
    pub fn blocks(&self, from: ClassId, to: ClassId) -> Option<BlockedEnd> {
        self.transfers[self.transfer_cell(from, to)].blocks
    }

    /// Sets what a transfer takes.
    pub fn set_transfer(&mut self, from: ClassId, to: ClassId, model: TransferModel) {
        let cell = self.transfer_cell(from, to);
        self.transfers[cell] = model;
    }

    /// The same with every transfer that much longer, whatever its bytes: what handing values over within a team was
    /// seen to take beyond what single transfers show.
    #[must_use]
    pub fn with_longer_transfers(mut self, by: Nanoseconds) -> Self {
        self.transfers.iter_mut().for_each(|transfer| transfer.latency_seconds += by.seconds());
        self
    }

    /// What moving values into and out of the processor's memory takes; `None` if it works in the memory that all
    /// share.
    pub fn access(&self, class: ClassId) -> Option<MemoryAccess> {
        self.access.get(class.0).copied().flatten()
    }

    /// Sets what moving values into and out of the processor's memory takes.
    pub fn set_access(&mut self, class: ClassId, access: MemoryAccess) {
        self.access[class.0] = Some(access);
    }

    /// What it costs a stage on `to` to take over `bytes` from a stage on `from`: what `to` pays for values from
    /// anywhere, and their way over the link between the two or, without one, into the memory of a processor that has
    /// its own.
    pub fn hand_over(&self, from: ClassId, to: ClassId, bytes: u64) -> Nanoseconds {
        let receiving = self.hand_overs[to.0];
        let way = match (self.link(from, to), self.access(to)) {
            (Some(link), _) => link.hand_over,
            (None, Some(access)) => access.upload,
            (None, None) => HandOver::FREE,
        };
        // What has a memory of its own waits for nothing if nothing is brought there.
        if bytes == 0 && self.access(to).is_some() {
            return Nanoseconds::ZERO;
        }
        let seconds_per_byte = receiving.seconds_per_byte + way.seconds_per_byte;
        within_a_day(receiving.seconds + way.seconds + seconds_per_byte * bytes as f64)
    }

    /// For how long the link from `from` to `to` carries nothing but these bytes.
    pub fn link_time(&self, from: ClassId, to: ClassId, bytes: u64) -> Nanoseconds {
        let occupied = self.link(from, to).map_or(0.0, |link| link.occupied_seconds_per_byte);
        within_a_day(occupied * bytes as f64)
    }

    /// What a hand-over costs the receiver, from any sender.
    pub fn hand_over_model(&self, class: ClassId) -> HandOver {
        self.hand_overs[class.0]
    }

    /// Sets what a hand-over costs the receiver, from any sender.
    pub fn set_hand_over(&mut self, class: ClassId, hand_over: HandOver) {
        self.hand_overs[class.0] = hand_over;
    }

    /// What values take on their way from the cluster or accelerator of one class to that of another; `None` if nothing
    /// is known of it, or both work in the memory that all share.
    pub fn link(&self, from: ClassId, to: ClassId) -> Option<LinkCost> {
        self.links[self.link_cell(from, to)]
    }

    /// Sets what values take on their way from the cluster or accelerator of one class to that of another.
    pub fn set_link(&mut self, from: ClassId, to: ClassId, link: LinkCost) {
        let cell = self.link_cell(from, to);
        self.links[cell] = Some(link);
    }
}

#[cfg(test)]
mod tests {
    use millstream_board::ProcessorClass;

    use super::*;

    fn hand_over(nanoseconds: u32, per_byte: u32) -> HandOver {
        let [seconds, seconds_per_byte] = [nanoseconds, per_byte].map(|time| f64::from(time) * 1e-9);
        HandOver { seconds, seconds_per_byte }
    }

    /// What the receiver pays, 10 ns and one a byte, and the way: over the link if there is one, else into the memory.
    #[test]
    fn a_hand_over_goes_over_the_link_or_into_the_receiver_s_memory() {
        let mut table = CostTable::new(0, ["B", "s", "gpu"].map(|label| ProcessorClass::new(label, 1)));
        let [big, small, gpu] = [0, 1, 2].map(ClassId);
        for class in [big, small, gpu] {
            table.set_hand_over(class, hand_over(10, 1));
        }
        table.set_access(gpu, MemoryAccess { upload: hand_over(200, 3), download: hand_over(0, 0) });
        table.set_link(small, gpu, LinkCost { hand_over: hand_over(50, 2), occupied_seconds_per_byte: 4e-9 });

        let times = |from, to| [5, 0].map(|bytes| table.hand_over(from, to, bytes).0);
        assert_eq!(times(big, small), [15, 10], "in the memory that all share");
        assert_eq!(times(gpu, small), [15, 10], "what is brought back is the sender's");
        assert_eq!(times(big, gpu), [10 + 200 + 5 * (1 + 3), 0], "into the memory, and nothing for nothing");
        assert_eq!(times(small, gpu), [10 + 50 + 5 * (1 + 2), 0], "over the link");
        let occupied = [(small, gpu), (gpu, small), (big, gpu)].map(|(from, to)| table.link_time(from, to, 5).0);
        assert_eq!(occupied, [20, 0, 0], "a link has a direction");
    }

    /// A transfer of 5 bytes: 100 ns, 2 a byte to move it, and 3 a byte to convert it.
    #[test]
    fn a_transfer_takes_its_latency_and_what_bytes_take() {
        let mut table = CostTable::new(0, ["B", "s"].map(|label| ProcessorClass::new(label, 1)));
        let [big, small] = [0, 1].map(ClassId);
        let model = TransferModel {
            latency_seconds: 100e-9,
            seconds_per_byte: 2e-9,
            conversion_seconds_per_byte: 3e-9,
            blocks: Some(BlockedEnd::Sender),
        };
        table.set_transfer(big, small, model);
        let times = |table: &CostTable| [(big, small), (small, big)].map(|(from, to)| table.transfer(from, to, 5).0);
        assert_eq!(times(&table), [125, 0]);
        assert_eq!((table.blocks(big, small), table.blocks(small, big)), (Some(BlockedEnd::Sender), None));
        assert_eq!(table.transfer(big, small, u64::MAX).seconds(), 86_400.0, "a day at the most");
        assert_eq!(times(&table.with_longer_transfers(Nanoseconds(7))), [132, 7]);
    }
}
