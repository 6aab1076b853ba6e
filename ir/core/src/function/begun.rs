//! Which of a block's guest instructions have begun: [`Begun`]. Guest instructions and IR operations need not be in the same order.

use foldhash::{HashMap, HashMapExt};
/// Counts how many of a block's guest instructions have begun, operation by operation. Takes time in proportion to the
/// operations, in whatever order their instructions are.
pub struct Begun<'a> {
    /// Addresses of the instructions that count.
    counted: &'a [u32],
    count: usize,
    /// The index of each address in the list, made when first needed.
    places: Option<HashMap<u32, Vec<u32>>>,
}

impl<'a> Begun<'a> {
    /// None has begun.
    pub fn new(counted: &'a [u32]) -> Begun<'a> {
        Begun { counted, count: 0, places: None }
    }

    /// How many have begun.
    pub fn count(&self) -> usize {
        self.count
    }

    /// How many have begun when an operation at `pc` runs. If `pc` is not among the instructions that have not begun,
    /// the count stays: the operation belongs to one that has, perhaps in an earlier block.
    pub fn with(&mut self, pc: u32) -> usize {
        if self.counted[..self.count].last() != Some(&pc) {
            self.count = self.find(pc).map_or(self.count, |at| at + 1);
        }
        self.count
    }

    /// Counts all instructions before the one at `pc` as begun, if that one has not begun.
    pub fn up_to(&mut self, pc: u32) {
        self.count = self.find(pc).unwrap_or(self.count);
    }

    /// The index of an instruction that has not begun.
    fn find(&mut self, pc: u32) -> Option<usize> {
        /// Nearly always it is one of the next few.
        const NEAR: usize = 8;
        let behind = &self.counted[self.count..];
        let near = behind.iter().take(NEAR).position(|&of| of == pc);
        if near.is_some() || behind.len() <= NEAR {
            return near.map(|more| self.count + more);
        }
        let counted = self.counted;
        let places = self.places.get_or_insert_with(|| {
            let mut places: HashMap<u32, Vec<u32>> = HashMap::new();
            (0..).zip(counted).for_each(|(at, &of)| places.entry(of).or_default().push(at));
            places
        });
        let list = places.get(&pc)?;
        let next = list.partition_point(|&at| (at as usize) < self.count);
        list.get(next).map(|&at| at as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// By definition, place by place.
    fn begin_plainly(counted: &[u32], begun: usize, pc: u32) -> usize {
        let (before, behind) = counted.split_at(begun);
        if before.last() == Some(&pc) {
            return begun;
        }
        behind.iter().position(|&of| of == pc).map_or(begun, |more| begun + more + 1)
    }

    #[test]
    fn instructions_begin_with_their_first_operation() {
        let mut seed = 1u32;
        let mut random = |limit: u32| {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 8) % limit
        };
        for _ in 0..200 {
            // Addresses come in any order, some twice, and operations are of others, too.
            let counted: Vec<u32> =
                (0..1 + random(60)).map(|n| if random(4) == 0 { random(60) } else { n }).collect();
            let mut begun = Begun::new(&counted);
            let mut at = 0;
            for _ in 0..60 {
                let pc = if random(2) == 0 { at as u32 } else { random(80) };
                at = begin_plainly(&counted, at, pc);
                assert_eq!(begun.with(pc), at, "{counted:?} {pc}");
                assert_eq!(
                    begun.find(pc),
                    counted[at..].iter().position(|&of| of == pc).map(|more| at + more)
                );
            }
        }
    }
}
