//! Where front ends read code that lies in guest memory: implements their trait [`CodeSource`] for [`Memory`], and wraps the sources of
//! embedders.

use crate::fork;
use crate::{Memory, PAGE_BYTES};
use warpjit_frontend::CodeSource;

/// The embedder's source, which is called outside of sections.
pub(crate) struct Outside<'a>(pub(crate) &'a dyn CodeSource);

impl CodeSource for Outside<'_> {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        fork::outside(|| self.0.read(address, out))
    }
}

impl CodeSource for Memory {
    fn read(&self, address: u64, out: &mut [u8]) -> usize {
        if Memory::read(self, address, out).is_ok() {
            return out.len();
        }
        let mut done = 0;
        while done < out.len() {
            let Some(at) = address.checked_add(done as u64) else { break };
            let page = (PAGE_BYTES - at % PAGE_BYTES) as usize;
            let end = out.len().min(done + page);
            if Memory::read(self, at, &mut out[done..end]).is_err() {
                break;
            }
            done = end;
        }
        done
    }
}
