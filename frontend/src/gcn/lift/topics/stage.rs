//! Lifts the messages of geometry programs.

use warpjit_ir::{IntCC, Space};

use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::access;
use crate::gcn::{Inst, Op};

/// Emits the messages of geometry programs: they count. Vertices themselves are in the ring, which is memory. Messages of other stages, and
/// of streams behind the first, do nothing.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    const GS: u16 = 2;
    let Some(counters) = e.own.places.and_then(|places| places.geometry) else { return false };
    let (message, stream) = (inst.simm16 & 15, inst.simm16 >> 8 & 3);
    if inst.op != Op::S_SENDMSG || message != GS || stream != 0 {
        return false;
    }
    let (cut, emit) = (inst.simm16 >> 4 & 1 != 0, inst.simm16 >> 5 & 1 != 0);
    let exec = e.exec();
    let most = e.b.i32(counters.most);
    let one = e.b.i32(1);
    if emit {
        let count = e.local(counters.emitted);
        let more = e.b.iadd(count, one);
        let more = e.b.umin(more, most);
        e.set_local(counters.emitted, more, Some(exec));
    }
    if cut {
        let count = e.local(counters.emitted);
        let zero = e.b.i32(0);
        let any = e.b.icmp(IntCC::Ne, count, zero);
        let lanes = e.b.iand(exec, any);
        let last = e.b.isub(count, one);
        let at = e.shl_const(last, 2);
        let set = e.b.i32(u32::MAX);
        e.b.store(access(Space::Local, 4, false, counters.cuts as i32), at, set, Some(lanes));
    }
    true
}
