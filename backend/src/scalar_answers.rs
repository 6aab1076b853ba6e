//! Answers of devices that the chunks of a warp share: a scalar load asks its device once for all lanes.

/// How many answers a chunk looks ahead for its own.
const AHEAD: usize = 64;

/// How many answers are kept for a run of a region. Loads behind them ask the device for each chunk: a loop may come to any number of them.
const MOST_ANSWERS: usize = 4096;

/// What devices have answered to the scalar loads of a region, for one run of it by a warp.
///
/// The guest executes a scalar load once for all lanes, while each chunk of lanes repeats it in compiled code. So the first chunk that
/// comes to a load asks the device, and the others get the same answer. They come to the loads in the same order, since a wave has one
/// program counter; a chunk may pass by loads that only lanes of others need ([`warpjit_ir::regions`], votes). An answer that a chunk
/// finds missing has its place where the chunk is in the list.
#[derive(Clone, Default, Debug)]
pub struct ScalarAnswers {
    /// In the order of the loads.
    list: Vec<ScalarAnswer>,
    /// Where the chunk is in it.
    next: usize,
    /// First lane of the chunk.
    chunk: u32,
}

#[derive(Clone, Copy, Debug)]
struct ScalarAnswer {
    address: u64,
    bytes: u8,
    value: u64,
}

impl ScalarAnswers {
    /// A chunk comes to a load; `is_new`: the warp has begun a region since the last one.
    pub(crate) fn at_chunk(&mut self, chunk: u32, is_new: bool) {
        if is_new {
            self.list.clear();
        }
        if is_new || chunk != self.chunk {
            (self.next, self.chunk) = (0, chunk);
        }
    }

    /// The answer to the chunk's next load, if another chunk has it.
    pub(crate) fn find(&mut self, address: u64, bytes: u8) -> Option<u64> {
        let mut ahead = self.list[self.next..].iter().take(AHEAD);
        let at = ahead.position(|one| (one.address, one.bytes) == (address, bytes))?;
        self.next += at + 1;
        Some(self.list[self.next - 1].value)
    }

    /// Notes an answer for other chunks, if there is room.
    pub(crate) fn add(&mut self, address: u64, bytes: u8, value: u64) {
        if self.list.len() < MOST_ANSWERS {
            self.list.insert(self.next, ScalarAnswer { address, bytes, value });
            self.next += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn chunks_share_as_many_answers_as_are_kept() {
        let mut answers = ScalarAnswers::default();
        answers.at_chunk(0, true);
        for n in 0..2 * MOST_ANSWERS as u64 {
            assert_eq!(answers.find(16, 4), None, "{n}");
            answers.add(16, 4, n);
        }
        assert_eq!(answers.list.len(), MOST_ANSWERS);
        answers.at_chunk(8, false);
        for n in 0..MOST_ANSWERS as u64 {
            assert_eq!(answers.find(16, 4), Some(n));
        }
        assert_eq!(answers.find(16, 4), None);
    }
}
