//! Determines what scalar registers, MODE and the index mode hold at each point, as far as that is known at compile time. Jumps
//! to computed addresses and the lowering of float operations need it.

use super::effects::Effects;
use super::truth::Truths;
use crate::code::Code;
use crate::gcn::lift::options::{Entry, Options, Register};
use crate::gcn::lift::slots::M0;
use crate::gcn::{Inst, Op};

/// What is known of the index mode at a point of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum IndexMode {
    /// It is off.
    Off,
    /// It is on for these operands: bits 0 to 2 are sources, bit 3 the destination.
    On(u8),
    /// MODE and M0 say.
    Dynamic,
}

/// The guest address behind an instruction.
pub(in crate::gcn::lift) fn address_behind(inst: &Inst, code: &Code<'_>) -> u64 {
    code.address(inst.pc as u32).wrapping_add(inst.len.into())
}

/// Bit of MODE: the index mode is on.
pub(in crate::gcn::lift) const MODE_INDEX: u32 = 1 << 27;
/// Bit of MODE: vector instructions are skipped.
pub(in crate::gcn::lift) const MODE_SKIP: u32 = 1 << 28;
/// The bits of MODE that float operations look at.
const MODE_FLOAT: u32 = 0x3ff;

/// The float part of MODE.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) struct FloatMode {
    /// Rounding of f32: 0 nearest even, 1 to +inf, 2 to -inf, 3 to zero.
    pub(in crate::gcn::lift) round32: u8,
    /// Rounding of f64 and f16.
    pub(in crate::gcn::lift) round64: u8,
    /// Denormals of f32: bit 0 inputs are kept, bit 1 results are.
    pub(in crate::gcn::lift) denorm32: u8,
    /// Denormals of f64 and f16.
    pub(in crate::gcn::lift) denorm64: u8,
    /// Clamp makes zero of NaN.
    pub(in crate::gcn::lift) dx10_clamp: bool,
    /// IEEE mode: min and max quiet signalling NaNs.
    pub(in crate::gcn::lift) ieee: bool,
}

impl FloatMode {
    fn of(bits: u32) -> FloatMode {
        let two = |shift: u32| (bits >> shift & 3) as u8;
        FloatMode {
            round32: two(0),
            round64: two(2),
            denorm32: two(4),
            denorm64: two(6),
            dx10_clamp: bits >> 8 & 1 != 0,
            ieee: bits >> 9 & 1 != 0,
        }
    }
}

/// MODE at a point of the program, as float operations see it.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum Mode {
    /// It is the same whenever the point is reached.
    Known(FloatMode),
    /// [`Emit::mode_bits`] says.
    Dynamic,
}

/// What is known of a scalar register.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Bits {
    code: u8,
    /// Which bits are known; not 0.
    known: u32,
    /// What they are; the others are 0 here.
    value: u32,
}

/// Scalar registers of which bits are known, in order.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Registers(Vec<Bits>);

impl Registers {
    fn get(&self, code: u8) -> (u32, u32) {
        let index = self.0.binary_search_by_key(&code, |bits| bits.code);
        index.map_or((0, 0), |at| (self.0[at].known, self.0[at].value))
    }

    /// Nothing is known where no bit is.
    fn set(&mut self, code: u8, (known, value): (u32, u32)) {
        let bits = Bits { code, known, value: value & known };
        match self.0.binary_search_by_key(&code, |bits| bits.code) {
            Ok(at) if known == 0 => _ = self.0.remove(at),
            Ok(at) => self.0[at] = bits,
            Err(_) if known == 0 => {}
            Err(at) => self.0.insert(at, bits),
        }
    }

    /// Keeps the bits that are the same in `other`; whether there were more.
    fn meet(&mut self, other: &Registers) -> bool {
        let mut rest = other.0.as_slice();
        let mut lost = false;
        self.0.retain_mut(|own| {
            while let [first, behind @ ..] = rest
                && first.code < own.code
            {
                rest = behind;
            }
            let (also, there) = match rest {
                [first, ..] if first.code == own.code => (first.known, first.value),
                _ => (0, 0),
            };
            let known = own.known & also & !(own.value ^ there);
            lost |= known != own.known;
            (own.known, own.value) = (known, own.value & known);
            known != 0
        });
        lost
    }
}

/// Most return addresses of a subroutine that are told apart.
const MOST_RETURNS: usize = 16;

/// Pairs of scalar registers that hold one of a few addresses of code, in order, each with these addresses in order.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
struct CodePointers(Vec<(u8, Vec<u64>)>);

impl CodePointers {
    fn get(&self, pair: u8) -> Option<&[u64]> {
        let index = self.0.binary_search_by_key(&pair, |held| held.0).ok()?;
        Some(&self.0[index].1)
    }

    fn set(&mut self, pair: u8, targets: Option<Vec<u64>>) {
        match (self.0.binary_search_by_key(&pair, |held| held.0), targets) {
            (Ok(at), Some(targets)) => self.0[at].1 = targets,
            (Ok(at), None) => _ = self.0.remove(at),
            (Err(at), Some(targets)) => self.0.insert(at, (pair, targets)),
            (Err(_), None) => {}
        }
    }

    /// Keeps the pairs that both know of, with the addresses of either; whether less is known now.
    fn meet(&mut self, other: &CodePointers) -> bool {
        let mut lost = false;
        self.0.retain_mut(|(pair, targets)| {
            let before = targets.len();
            let known = other.get(*pair).is_some_and(|more| {
                for target in more {
                    if let Err(at) = targets.binary_search(target) {
                        targets.insert(at, *target);
                    }
                }
                targets.len() <= MOST_RETURNS
            });
            lost |= !known || targets.len() != before;
            known
        });
        lost
    }
}

/// What is known at a point of the program.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) struct Statics {
    registers: Registers,
    targets: CodePointers,
    scc: Option<bool>,
    mode: u32,
    /// Which bits of `mode` are known.
    mode_known: u32,
    /// M0\[15:12\]: which operands the index mode is for.
    index_operands: Option<u8>,
    truths: Truths,
}

impl Statics {
    /// At the program's entry.
    pub(in crate::gcn::lift) fn entry(options: &Options<'_>) -> Statics {
        let mut registers = Registers(Vec::new());
        for entry in options.preload {
            if let (Register::Scalar(code), Entry::Const(value)) = *entry {
                registers.set(code, (u32::MAX, value));
            }
        }
        Statics {
            registers,
            targets: CodePointers::default(),
            scc: None,
            mode: options.mode,
            mode_known: u32::MAX,
            index_operands: None,
            // The pixels of a wave can all be helpers.
            truths: if options.stage.is_some() { Truths::nothing() } else { Truths::entry() },
        }
    }

    /// What is known of masks.
    pub(in crate::gcn::lift) fn truths(&self) -> &Truths {
        &self.truths
    }

    /// Knows nothing of masks.
    pub(in crate::gcn::lift) fn forget_masks(&mut self) {
        self.truths = Truths::nothing();
    }

    /// What is known on the way to `to` from a branch.
    pub(in crate::gcn::lift) fn refine(&mut self, branch: &Inst, to: u32) {
        self.truths.refine(branch, to);
    }

    /// Keeps what `other` knows too; whether anything was lost.
    pub(in crate::gcn::lift) fn meet(&mut self, other: &Statics) -> bool {
        let mut lost = self.registers.meet(&other.registers);
        lost |= self.targets.meet(&other.targets);
        let before = (self.scc, self.mode_known, self.index_operands, self.truths);
        if self.scc != other.scc {
            self.scc = None;
        }
        self.mode_known &= other.mode_known & !(self.mode ^ other.mode);
        self.mode &= self.mode_known;
        if self.index_operands != other.index_operands {
            self.index_operands = None;
        }
        self.truths.meet(&other.truths);
        lost |= before != (self.scc, self.mode_known, self.index_operands, self.truths);
        lost
    }

    /// Bytes of memory that it takes.
    pub(in crate::gcn::lift) fn bytes(&self) -> usize {
        let targets =
            self.targets.0.iter().map(|(_, targets)| size_of::<(u8, Vec<u64>)>() + 8 * targets.len());
        size_of::<Statics>() + self.registers.0.len() * size_of::<Bits>() + targets.sum::<usize>()
    }

    /// The float part of MODE.
    pub(in crate::gcn::lift) fn float_mode(&self) -> Mode {
        if self.mode_known & MODE_FLOAT == MODE_FLOAT {
            Mode::Known(FloatMode::of(self.mode))
        } else {
            Mode::Dynamic
        }
    }

    /// A bit of MODE, if it is known.
    pub(in crate::gcn::lift) fn mode_bit(&self, bit: u32) -> Option<bool> {
        (self.mode_known & bit != 0).then_some(self.mode & bit != 0)
    }

    /// The index mode.
    pub(in crate::gcn::lift) fn index_mode(&self) -> IndexMode {
        match (self.mode_bit(MODE_INDEX), self.index_operands) {
            (Some(false), _) => IndexMode::Off,
            (Some(true), Some(operands)) => IndexMode::On(operands),
            _ => IndexMode::Dynamic,
        }
    }

    /// The constant in a scalar register.
    pub(in crate::gcn::lift) fn constant(&self, code: u8) -> Option<u32> {
        let (known, value) = self.registers.get(code);
        (known == u32::MAX).then_some(value)
    }

    /// The bits of a scalar register that are known, and what they are; the others are 0 in the latter.
    pub(in crate::gcn::lift) fn bits(&self, code: u8) -> (u32, u32) {
        self.registers.get(code)
    }

    /// The known bits of source `i`.
    fn source_bits(&self, inst: &Inst, i: usize) -> (u32, u32) {
        let arg = inst.src(i);
        match (arg.operand.scalar_code(), arg.constant()) {
            (Some(code), _) => self.bits(code),
            (None, Some(value)) => (u32::MAX, value as u32),
            (None, None) => (0, 0),
        }
    }

    /// The known bits of a result: of fields that are cut out or put in, and of the high dword of an address.
    fn result_bits(&self, inst: &Inst) -> (u32, u32) {
        let ((known, value), (also, other)) = (self.source_bits(inst, 0), self.source_bits(inst, 1));
        match inst.op {
            Op::S_AND_B32 => {
                let known = known & also | known & !value | also & !other;
                (known, value & other & known)
            }
            Op::S_OR_B32 => {
                let known = known & also | known & value | also & other;
                (known, (value | other) & known)
            }
            // Whatever the carry is.
            Op::S_ADDC_U32 if known & also == u32::MAX => {
                let sum = value.wrapping_add(other);
                let known = !(sum ^ sum.wrapping_add(1));
                (known, sum & known)
            }
            _ => (0, 0),
        }
    }

    /// The constant in a pair.
    pub(in crate::gcn::lift) fn constant64(&self, code: u8) -> Option<u64> {
        let (low, high) = (self.constant(code & !1)?, self.constant(code | 1)?);
        Some(u64::from(high) << 32 | u64::from(low))
    }

    /// The constant that source `i` is.
    fn source(&self, inst: &Inst, i: usize) -> Option<u32> {
        let arg = inst.src(i);
        match arg.operand.scalar_code() {
            Some(code) => self.constant(code),
            None => arg.constant().map(|bits| bits as u32),
        }
    }

    /// The constant that source `i` is, 64 bits wide.
    pub(in crate::gcn::lift) fn source64(&self, inst: &Inst, i: usize) -> Option<u64> {
        let arg = inst.src(i);
        match arg.operand.scalar_code() {
            Some(code) => self.constant64(code),
            None => arg.constant(),
        }
    }

    /// The addresses of code of which source `i` is one.
    pub(in crate::gcn::lift) fn targets(&self, inst: &Inst, i: usize) -> Option<&[u64]> {
        self.targets.get(inst.src(i).operand.scalar_code()?)
    }

    /// The addresses of code of which the result of an instruction is one: where a call returns to, or a copy of that.
    fn result_targets(&self, inst: &Inst, code: &Code<'_>) -> Option<(u8, Vec<u64>)> {
        let pair = inst.dst?.operand.scalar_code().filter(|code| code % 2 == 0)?;
        let targets = match inst.op {
            Op::S_SWAPPC_B64 | Op::S_CALL_B64 => vec![address_behind(inst, code)],
            Op::S_MOV_B64 => self.targets(inst, 0)?.to_vec(),
            _ => return None,
        };
        Some((pair, targets))
    }

    /// What is known behind an instruction.
    pub(in crate::gcn::lift) fn step(&mut self, inst: &Inst, code: &Code<'_>) {
        let result = self.result(inst, code);
        let bits = self.result_bits(inst);
        let targets = self.result_targets(inst, code);
        let fx = Effects::of(inst, false);
        self.truths.step(inst, &fx);
        self.mode_effects(inst);
        for &(pair, halves) in &fx.writes {
            self.targets.set(pair, None);
            for code in [pair, pair | 1] {
                let half = if code == pair { super::view::LO } else { super::view::HI };
                if halves & (half | super::view::LANE) != 0 {
                    self.registers.set(code, (0, 0));
                }
            }
        }
        for &pair in &fx.may_write {
            self.targets.set(pair, None);
            for code in [pair, pair | 1] {
                self.registers.set(code, (0, 0));
            }
        }
        if fx.writes_scc {
            self.scc = None;
        }
        if let Some(scc) = result.scc {
            self.scc = Some(scc);
        }
        if let Some(code) = inst.dst.and_then(|dst| dst.operand.scalar_code()) {
            match result.value {
                Some(value) if result.wide => {
                    self.registers.set(code & !1, (u32::MAX, value as u32));
                    self.registers.set(code | 1, (u32::MAX, (value >> 32) as u32));
                }
                Some(value) => self.registers.set(code, (u32::MAX, value as u32)),
                None if bits.0 != 0 => self.registers.set(code, bits),
                None => {}
            }
        }
        if let Some((pair, targets)) = targets {
            self.targets.set(pair, Some(targets));
        }
        self.track_m0(inst, &fx);
    }

    fn result(&self, inst: &Inst, code: &Code<'_>) -> Known {
        let two = || Some((self.source(inst, 0)?, self.source(inst, 1)?));
        match inst.op {
            Op::S_MOV_B32 => Known::word(self.source(inst, 0)),
            Op::S_MOVK_I32 => Known::word(Some(inst.simm16 as i16 as u32)),
            Op::S_MOV_B64 => Known::wide(self.source64(inst, 0)),
            Op::S_GETPC_B64 | Op::S_SWAPPC_B64 | Op::S_CALL_B64 => {
                Known::wide(Some(address_behind(inst, code)))
            }
            Op::S_ADD_U32 => Known::sum(two(), Some(false), true),
            Op::S_ADDC_U32 => Known::sum(two(), self.scc, true),
            Op::S_SUB_U32 => Known::sum(two(), Some(false), false),
            Op::S_SUBB_U32 => Known::sum(two(), self.scc, false),
            Op::S_AND_B32 => Known::logic(two().map(|(a, b)| a & b)),
            Op::S_OR_B32 => Known::logic(two().map(|(a, b)| a | b)),
            _ => Known::default(),
        }
    }

    fn mode_effects(&mut self, inst: &Inst) {
        match inst.op {
            Op::S_SETREG_B32 | Op::S_SETREG_IMM32_B32 => {
                let field = super::hwreg::Field::of(inst.simm16);
                if field.id != super::hwreg::MODE {
                    return;
                }
                let value = match inst.op {
                    Op::S_SETREG_IMM32_B32 => inst.literal,
                    _ => {
                        let arg = super::hwreg::setreg_source(inst);
                        arg.operand.scalar_code().and_then(|code| self.constant(code))
                    }
                };
                self.set_mode(field.mask(), value.map(|value| value << field.offset));
            }
            Op::S_SET_GPR_IDX_ON => self.set_mode(MODE_INDEX, Some(MODE_INDEX)),
            Op::S_SET_GPR_IDX_OFF => self.set_mode(MODE_INDEX, Some(0)),
            Op::S_SETVSKIP => {
                let value = self.source(inst, 0).zip(self.source(inst, 1));
                let value = value.map(|(a, b)| if a >> (b & 31) & 1 != 0 { MODE_SKIP } else { 0 });
                self.set_mode(MODE_SKIP, value);
            }
            Op::S_CBRANCH_G_FORK | Op::S_CBRANCH_I_FORK | Op::S_CBRANCH_JOIN => {
                self.set_mode(7 << 29, None);
            }
            _ => {}
        }
    }

    fn set_mode(&mut self, mask: u32, value: Option<u32>) {
        self.mode &= !mask;
        match value {
            Some(value) => {
                self.mode |= value & mask;
                self.mode_known |= mask;
            }
            None => self.mode_known &= !mask,
        }
    }

    fn track_m0(&mut self, inst: &Inst, fx: &Effects) {
        match inst.op {
            Op::S_SET_GPR_IDX_ON => self.index_operands = Some(super::hwreg::index_operands(inst)),
            Op::S_SET_GPR_IDX_MODE => self.index_operands = Some((inst.simm16 & 15) as u8),
            Op::S_SET_GPR_IDX_IDX => {}
            _ => {
                if fx.writes.iter().any(|&(pair, _)| pair == M0) || fx.may_write.contains(&M0) {
                    self.index_operands = self.constant(M0).map(|m0| (m0 >> 12 & 15) as u8);
                }
            }
        }
    }
}

/// A result that is known.
#[derive(Default)]
struct Known {
    value: Option<u64>,
    wide: bool,
    scc: Option<bool>,
}

impl Known {
    fn word(value: Option<u32>) -> Known {
        Known { value: value.map(u64::from), ..Known::default() }
    }

    fn wide(value: Option<u64>) -> Known {
        Known { value, wide: true, scc: None }
    }

    fn logic(value: Option<u32>) -> Known {
        Known { value: value.map(u64::from), wide: false, scc: value.map(|value| value != 0) }
    }

    /// `a + b + carry`, or `a - b - carry`.
    fn sum(sources: Option<(u32, u32)>, carry: Option<bool>, add: bool) -> Known {
        let Some(((a, b), carry)) = sources.zip(carry) else { return Known::default() };
        let (a, b, carry) = (u64::from(a), u64::from(b), u64::from(carry));
        let sum = if add { a + b + carry } else { a.wrapping_sub(b).wrapping_sub(carry) };
        Known { value: Some(sum & 0xffff_ffff), wide: false, scc: Some(sum >> 32 != 0) }
    }
}
