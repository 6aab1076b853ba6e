//! What a region has executed: instructions, lanes and bytes.

use super::{FUEL, Stepper};
use warpjit_ir::Block;
use warpjit_ir::interp::{self, Warp};

impl Stepper<'_> {
    /// Adds the instructions of a region to the warp's count: `steps` if the region counted them, else those of its
    /// first block plus, if no exact count is needed, its back edges.
    pub(super) fn count(&mut self, at: Block, steps: Option<u64>, warp: &mut Warp) {
        let executed = steps.or(self.chain_ran);
        let executed = executed.unwrap_or_else(|| u64::from(self.tiers.code.guest_insts(at)));
        warp.count(executed);
        if !self.counts {
            if steps.is_none() {
                // This limits the slices of warps and blocks.
                warp.steps += FUEL.saturating_sub(self.context.fuel).unsigned_abs();
            }
            return;
        }
        let Self { tiers, scratch, .. } = self;
        let count = tiers.kernel.func.lanes as usize;
        // What lanes have summed up in a slot since this was called last.
        let take = |slot, warp: &mut Warp| {
            let start = tiers.slot_offset(slot) as usize / 4;
            let sums = &mut warp.frame.words_mut()[start..start + count];
            let sum = sums.iter().map(|&sum| u64::from(sum)).sum::<u64>();
            sums.fill(0);
            sum
        };
        if let Some(stats) = &mut scratch.stats {
            for counter in tiers.kernel.traffic() {
                let sum = match counter.once {
                    true => tiers.take_uniform(counter.slot, warp),
                    false => take(counter.slot, warp),
                };
                let traffic = &mut stats.traffic[interp::Stats::space_index(counter.space)];
                *if counter.stores { &mut traffic.1 } else { &mut traffic.0 } += sum;
            }
        }
        let Some([lanes, masked]) = tiers.kernel.lane_slots() else { return warp.count_lanes(executed) };
        warp.lane_insts = warp.lane_insts.wrapping_add(take(lanes, warp));
        let instructions = tiers.take_uniform(masked, warp);
        warp.lane_slots = warp.lane_slots.wrapping_add(instructions * count as u64);
    }
}
