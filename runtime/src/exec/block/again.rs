//! A block whose storage serves the next launch of the same kernel, with other arguments.

use super::RunningBlock;
use crate::exec::setup::UserWords;
use crate::exec::tiers::Tiers;
use warpjit_ir::interp::Warp;

impl RunningBlock {
    /// Its warps.
    pub fn warps(&self) -> impl Iterator<Item = &Warp> {
        self.warps.iter().map(|resident| &resident.warp)
    }

    /// Writes words of user data that the next [`RunningBlock::reset`] starts warps with. Only for kernels without a prologue,
    /// which would have computed from them.
    pub fn set_user_data(&mut self, tiers: &Tiers, places: &[UserWords], words: &[u32]) {
        for resident in &mut self.warps {
            let frame = resident.warp.frame.words_mut();
            for place in places {
                let value = words.get(place.number).copied().unwrap_or(0);
                frame[place.frame.clone()].fill(value);
                let mut before = 0;
                for range in &tiers.start().restored {
                    if range.start <= place.frame.start && place.frame.end <= range.end {
                        let at = before + (place.frame.start - range.start);
                        resident.first[at..at + place.frame.len()].fill(value);
                    }
                    before += range.len();
                }
            }
            // The version of the code that fitted the words of before.
            resident.hint = Default::default();
        }
        self.version = None;
    }
}
