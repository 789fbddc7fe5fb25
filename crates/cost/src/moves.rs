//! What moving values takes, as a table has it: transfers between processors, hand-overs between stages, and ways into and
//! out of memories.

use crate::hand_over::within_a_day;
use crate::hand_over::{HandOver, LinkCost, MemoryAccess};
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
