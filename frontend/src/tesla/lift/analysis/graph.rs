//! Finds the instructions that a program can reach and where its blocks begin.

use crate::code::Code;
use crate::envydis::fetch;
use crate::simt::{Graph, Leads, Source, TargetSet};
use crate::tesla::lift::options::Options;
use crate::tesla::lift::slots::is_areg;
use crate::tesla::lift::topics::atomic;
use crate::tesla::{DecodeError, End, Features, Inst, Op, Operand, Target, decode_word, table::Tesla};
use warpjit_ir::{Meter, Stopped};

/// A program's code.
pub(in crate::tesla::lift) struct Program<'a> {
    code: &'a Code<'a>,
    options: &'a Options<'a>,
}

/// Follows the program from its entry.
pub(in crate::tesla::lift) fn explore(
    code: &Code<'_>,
    options: &Options<'_>,
    meter: &Meter,
) -> Result<Graph<Inst>, Stopped> {
    Graph::explore(&Program { code, options }, options.entry, meter)
}

impl Source for Program<'_> {
    type Inst = Inst;

    fn decode(&self, pc: u32) -> Option<Inst> {
        decode_at(self.code, pc, self.options)
    }

    fn leads(&self, inst: &Inst) -> Leads {
        Leads {
            next: inst.next_pc(),
            target: inst.target_pc(),
            set: (inst.op == Op::BraIndirect).then(|| self.targets(inst)),
            ends: ends_block(inst),
            goes_on: goes_on(inst),
            block_behind: self.code.file().is_none() && leaves_for_good(inst),
        }
    }

    fn set(&self, set: TargetSet) -> Vec<u32> {
        match set {
            TargetSet::Anywhere => starts(self.code).collect(),
            TargetSet::OfBank(bank) => {
                let bytes = self.fixed_bank(bank).unwrap_or_default();
                let words =
                    bytes.windows(4).map(|word| u32::from_le_bytes([word[0], word[1], word[2], word[3]]));
                // Beyond the bank's end the space reads as zero.
                let mut targets: Vec<u32> = words.chain([0]).filter(|&pc| is_start(self.code, pc)).collect();
                targets.sort_unstable();
                targets.dedup();
                targets
            }
        }
    }
}

impl Program<'_> {
    /// Where a `bra c[]` may go.
    fn targets(&self, inst: &Inst) -> TargetSet {
        let bank = inst.srcs().iter().find_map(|src| match src.operand {
            Operand::Const { space, .. } => Some(space),
            _ => None,
        });
        match bank.filter(|&bank| self.fixed_bank(bank).is_some()) {
            Some(bank) => TargetSet::OfBank(bank),
            None => TargetSet::Anywhere,
        }
    }

    /// The contents of a bank that cannot change.
    fn fixed_bank(&self, bank: u8) -> Option<&[u8]> {
        self.options.const_banks.iter().find(|(index, _)| *index == bank).map(|(_, bytes)| *bytes)
    }
}

/// The instruction at `pc`, if the hardware would find one there.
fn decode_at(code: &Code<'_>, pc: u32, options: &Options<'_>) -> Option<Inst> {
    if pc % 8 == 4 {
        // Whether an instruction begins there depends on the word before.
        code.depend(pc - 4, 4);
    }
    let fetched = fetch::<Tesla>(&code.bytes(pc), 0).ok();
    code.depend(pc, fetched.map_or(8, |(_, len)| len.into()));
    if !is_start(code, pc) {
        return None;
    }
    let (raw, _) = fetched?;
    let inst = match decode_word(raw, pc, options.target) {
        Ok(inst) => inst,
        Err(DecodeError::Undefined { raw, .. }) => {
            atomic::decode_odd(raw, pc, options.target).or_else(|| decode_odd(raw, pc, options.target))?
        }
        Err(_) => return None,
    };
    // Long instructions are aligned, and $a registers that are not there cannot be stepped.
    (inst.len == 4 || pc.is_multiple_of(8)).then_some(inst).filter(|inst| !steps_missing_areg(inst))
}

/// Decodes a word that the table does not have but whose effect tests of real chips show: as the one that has the same
/// effect (envytools' `hwtest/g80_int.cc`, `g80_fp.cc` and `g80_sfu.cc`).
fn decode_odd(raw: u64, pc: u32, target: Target) -> Option<Inst> {
    const OPCODE: u64 = 0xf000_0000;
    const SELECTORS: u64 = 0x0180_0000;
    const WIDE: u64 = 1 << 54;
    if raw & 3 != 1 {
        return None;
    }
    let mut known = raw;
    match (raw >> 28 & 0xf, raw >> 61) {
        // The multiply-add forms left over are all the plain u24 one.
        (7, 1..) => known = raw & !(OPCODE | 7 << 61) | 0x6000_0000 | 3 << 61,
        // No c[] operand, so that the selectors of one select nothing; what makes a conversion a double-width one is
        // ignored where there are none.
        (0xa, _) | (0xb, 6) => {
            if raw >> 53 & 1 == 0 {
                known &= !SELECTORS;
            }
            let is_float_cvt = raw & OPCODE == 0xa000_0000 && raw >> 62 != 0;
            if is_float_cvt && !target.chip.features().contains(Features::FP64) {
                known &= !WIDE;
            }
        }
        _ => return None,
    }
    let inst = decode_word(known, pc, target).ok()?;
    Some(Inst { raw, ..inst })
}

/// Whether an instruction begins at `pc`. Long ones only stand at multiples of eight, so looking at the word
/// before is enough.
fn is_start(code: &Code<'_>, pc: u32) -> bool {
    let word_bit0 = |at: u32| code.bytes(at).first().map(|byte| byte & 1);
    match pc % 8 {
        0 => word_bit0(pc).is_some(),
        // What stands before the file is not known.
        4 => word_bit0(pc).is_some() && word_bit0(pc - 4) != Some(1),
        _ => false,
    }
}

fn starts<'a>(code: &'a Code<'a>) -> impl Iterator<Item = u32> + 'a {
    let (first, bytes) = code.extent().unwrap_or((0, 0));
    let at = move |offset: u32| first.wrapping_add(offset);
    (0..bytes.min(1 << 24)).step_by(4).map(at).filter(move |&pc| is_start(code, pc))
}

fn steps_missing_areg(inst: &Inst) -> bool {
    inst.srcs().iter().map(|src| src.operand).chain(inst.dst).any(|operand| match operand {
        Operand::Shared { addr, .. } | Operand::Const { addr, .. } | Operand::Local { addr } => {
            addr.post_increment.is_some() && !is_areg(addr.areg)
        }
        _ => false,
    })
}

/// Whether a block ends behind the instruction.
fn ends_block(inst: &Inst) -> bool {
    inst.end != End::None
        || matches!(
            inst.op,
            Op::Bra
                | Op::BraIndirect
                | Op::Call
                | Op::Ret
                | Op::BreakAddr
                | Op::Break
                | Op::QuadOn
                | Op::QuadPop
                | Op::Bar
                | Op::Trap
                | Op::JoinAt
                | Op::PreRet
        )
}

/// Whether no lane goes on behind an instruction that ends a block.
fn leaves_for_good(inst: &Inst) -> bool {
    let leaves = inst.end == End::Exit || matches!(inst.op, Op::Ret | Op::Break);
    leaves && inst.pred.is_none()
}

/// Whether execution can go on behind an instruction that ends a block.
fn goes_on(inst: &Inst) -> bool {
    match inst.op {
        Op::Trap | Op::BraIndirect => false,
        Op::Bra => inst.pred.is_some(),
        _ => true,
    }
}
