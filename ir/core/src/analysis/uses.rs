//! Use counts: how many operands of instructions and terminators name each value.

use crate::entities::{Inst, Value};
use crate::function::Function;

/// How often each value is an operand of an instruction or terminator that stands in a block.
pub struct Uses {
    counts: Vec<u32>,
}

impl Uses {
    /// Counts the uses.
    pub fn new(func: &Function) -> Uses {
        Uses::by(func, |_| true)
    }

    /// Counts the uses by those instructions that `by` names, and by terminators.
    pub fn by(func: &Function, by: impl Fn(Inst) -> bool) -> Uses {
        let mut counts = vec![0; func.values.len()];
        for data in &func.blocks {
            for &inst in data.insts.iter().filter(|&&inst| by(inst)) {
                for arg in &func.inst(inst).args {
                    counts[arg.index()] += 1;
                }
            }
            if let Some(term) = &data.term {
                term.for_each_use(|v| counts[v.index()] += 1);
            }
        }
        Uses { counts }
    }

    /// Uses of one value; none of a value made since.
    pub fn count(&self, value: Value) -> u32 {
        self.counts.get(value.index()).copied().unwrap_or(0)
    }
}
