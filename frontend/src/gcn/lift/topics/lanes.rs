//! Lifts cross-lane operations: DPP, `v_readlane` and similar instructions, and the shuffles of the LDS format (docs/hardware/gcn.md
//! sections 2 and 5).

use warpjit_ir::{IntCC, Opcode, Scalar, Type, Value};

use crate::gcn::lift::emit::{DppState, Emit};
use crate::gcn::{Dpp, DppCtrl, Inst, Op};

/// Numbers of the temporaries that hold the source and the lanes of a DPP instruction.
const DPP_SOURCE: usize = 11;
const DPP_WRITTEN: usize = 12;

/// Fetches the first source of a DPP instruction from the other lanes, and which lanes are written.
pub(in crate::gcn::lift) fn prepare_dpp(e: &mut Emit<'_>, inst: &Inst) {
    let Some(dpp) = inst.dpp else { return };
    let word = e.src32(inst, 0);
    let (from, inside) = source_lane(e, dpp.ctrl);
    let exec = e.exec();
    let active = e.b.convert(Opcode::Bmask, exec, Scalar::I32);
    let word = e.b.splat(word);
    let inside = e.b.splat(inside);
    let kept = e.keep(inside, 13);
    let moved = e.cross(&[word, active, from], |e, args| {
        vec![e.b.shuffle(args[0], args[2]), e.b.shuffle(args[1], args[2])]
    });
    let zero = e.b.i32(0);
    let there = e.b.icmp(IntCC::Ne, moved[1], zero);
    let inside = e.get(kept);
    let there = e.b.iand(there, inside);
    let named = named_lanes(e, dpp);
    let (value, written) = if dpp.bound_ctrl {
        (e.b.select(there, moved[0], zero), named)
    } else {
        (moved[0], e.b.iand(named, there))
    };
    let source = e.temp(Type::I32, DPP_SOURCE);
    e.put(source, value);
    let mask = e.temp(Type::MASK, DPP_WRITTEN);
    e.put(mask, written);
    e.own.dpp = Some(DppState { source, written: mask });
}

/// The lanes that both masks name.
fn named_lanes(e: &mut Emit<'_>, dpp: Dpp) -> Value {
    let mut bits = 0u64;
    for lane in 0..64 {
        let (row, bank) = (lane / 16, lane / 4 % 4);
        if dpp.row_mask >> row & 1 != 0 && dpp.bank_mask >> bank & 1 != 0 {
            bits |= 1 << lane;
        }
    }
    if bits == u64::MAX {
        return e.b.bool(true);
    }
    let bits = e.b.i64(bits);
    e.b.lane_bit(bits)
}

/// For each lane the one it reads, and whether there is such a lane.
fn source_lane(e: &mut Emit<'_>, ctrl: DppCtrl) -> (Value, Value) {
    let lane = e.lane_id();
    let all = e.b.bool(true);
    let within = |e: &mut Emit<'_>, from: Value, lane: Value, mask: u32| {
        let low = e.and_const(from, mask);
        let high = e.and_const(lane, !mask);
        e.b.ior(high, low)
    };
    // A lane beyond the row (or the wave) differs from this one above its low bits.
    let bounded = |e: &mut Emit<'_>, distance: i32, mask: u32| {
        let from = e.add_const(lane, distance as u32);
        let differs = e.b.ixor(from, lane);
        let differs = e.and_const(differs, !mask);
        let zero = e.b.i32(0);
        let inside = e.b.icmp(IntCC::Eq, differs, zero);
        (from, inside)
    };
    match ctrl {
        DppCtrl::QuadPerm(lanes) => {
            let table = lanes.iter().enumerate().map(|(n, &from)| u32::from(from & 3) << (2 * n)).sum();
            let table = e.b.i32(table);
            let quad_lane = e.and_const(lane, 3);
            let shift = e.shl_const(quad_lane, 1);
            let from = e.b.ushr(table, shift);
            (within(e, from, lane, 3), all)
        }
        DppCtrl::RowShl(n) => bounded(e, n.into(), 15),
        DppCtrl::RowShr(n) => bounded(e, -i32::from(n), 15),
        DppCtrl::RowRor(n) => {
            let from = e.add_const(lane, 0u32.wrapping_sub(n.into()));
            (within(e, from, lane, 15), all)
        }
        DppCtrl::WaveShl1 => bounded(e, 1, 63),
        DppCtrl::WaveShr1 => bounded(e, -1, 63),
        DppCtrl::WaveRol1 => (e.add_const(lane, 1), all),
        DppCtrl::WaveRor1 => (e.add_const(lane, u32::MAX), all),
        DppCtrl::RowMirror | DppCtrl::RowHalfMirror => {
            let flip = e.b.i32(if ctrl == DppCtrl::RowMirror { 15 } else { 7 });
            (e.b.ixor(lane, flip), all)
        }
        DppCtrl::RowBcast15 => {
            let row = e.and_const(lane, !15);
            let from = e.add_const(row, u32::MAX);
            let first = e.b.i32(15);
            (from, e.b.icmp(IntCC::Ugt, lane, first))
        }
        DppCtrl::RowBcast31 => {
            let last = e.b.i32(31);
            (last, e.b.icmp(IntCC::Ugt, lane, last))
        }
    }
}

impl Emit<'_> {
    /// In each lane `value` (i32) of the lane that `index` (modulo 64) names there, 0 where that lane is not active.
    /// Values made before are lost.
    pub(in crate::gcn::lift) fn shuffle_active(&mut self, value: Value, index: Value) -> Value {
        let exec = self.exec();
        let zero = self.b.i32(0);
        let value = self.b.select(exec, value, zero);
        let index = self.b.splat(index);
        self.cross1(&[value, index], |e, args| e.b.shuffle(args[0], args[1]))
    }

    /// `value` (i32, varying) in one lane: `lane` is uniform, modulo 64. Uniform. Values made before are lost.
    pub(in crate::gcn::lift) fn read_lane(&mut self, value: Value, lane: Value) -> Value {
        let value = self.b.splat(value);
        self.cross1(&[value, lane], |e, args| e.b.read_lane(args[0], args[1]))
    }

    /// `value` (i32, varying) in the first active lane, or in lane 0 if none is. Uniform. Values made before are lost.
    pub(in crate::gcn::lift) fn read_first_lane(&mut self, value: Value) -> Value {
        let value = self.b.splat(value);
        let exec = self.exec();
        self.cross1(&[value, exec], |e, args| {
            let active = e.b.ballot(args[1]);
            // Without any the count is 64, which is lane 0.
            let first = e.b.ctz(active);
            let first = e.low(first);
            e.b.read_lane(args[0], first)
        })
    }
}

/// Instructions that name lanes.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    match inst.op {
        Op::V_READLANE_B32 | Op::V_READLANE_REGRD_B32 => {
            let (value, lane) = (e.src32(inst, 0), e.src32(inst, 1));
            let value = e.read_lane(value, lane);
            e.set_dst32(inst, value);
        }
        Op::V_READFIRSTLANE_B32 => {
            let value = e.src32(inst, 0);
            let value = e.read_first_lane(value);
            e.set_dst32(inst, value);
        }
        Op::V_WRITELANE_B32 | Op::V_WRITELANE_REGWR_B32 => {
            let (value, lane) = (e.src32(inst, 0), e.src32(inst, 1));
            let lane = e.and_const(lane, 63);
            let own = e.lane_id();
            let here = e.b.icmp(IntCC::Eq, own, lane);
            if let Some(number) = inst.dst.and_then(|dst| dst.operand.vgpr()) {
                // EXEC does not matter.
                e.set_vgpr_where(here, number.into(), value);
            }
        }
        Op::V_SWAP_B32 => {
            let numbers = (inst.dst.and_then(|dst| dst.operand.vgpr()), inst.src(0).operand.vgpr());
            if let (Some(a), Some(b)) = numbers {
                let (was_a, was_b) = (e.vgpr(a.into()), e.vgpr(b.into()));
                e.set_vgpr(a.into(), was_b);
                e.set_vgpr(b.into(), was_a);
            }
        }
        _ => return false,
    }
    true
}
