//! Lifts the messages of geometry programs.

use warpjit_ir::{IntCC, Space};

use crate::gcn::lift::emit::Emit;
use crate::gcn::lift::emit::access::access;
use crate::gcn::{Inst, Op};
use crate::stage::STREAM_SHIFT;

/// Emits the messages of geometry programs: they count. Vertices themselves are in the ring, which is memory. Messages of other stages, and
/// of streams that the interface does not have, do nothing.
pub(in crate::gcn::lift) fn inst(e: &mut Emit<'_>, inst: &Inst) -> bool {
    const GS: u16 = 2;
    let Some(counters) = e.own.stage_memory.and_then(|stage_memory| stage_memory.geometry) else {
        return false;
    };
    let (message, stream) = (inst.simm16 & 15, u32::from(inst.simm16 >> 8 & 3));
    let streams = counters.streams.map_or(1, |(count, _)| count);
    if inst.op != Op::S_SENDMSG || message != GS || stream >= streams {
        return false;
    }
    let (cut, emit) = (inst.simm16 >> 4 & 1 != 0, inst.simm16 >> 5 & 1 != 0);
    let exec = e.exec();
    let one = e.b.i32(1);
    // Where the number of the stream's vertex emitted last is.
    let latest = counters.streams.map_or(counters.emitted, |(_, start)| start + 4 * stream);
    let flags = access(Space::Local, 4, false, counters.cuts as i32);
    let number = stream << STREAM_SHIFT;
    if emit {
        let count = e.local(counters.emitted);
        let most = e.b.i32(counters.most);
        let room = e.b.icmp(IntCC::Ult, count, most);
        let lanes = e.b.iand(exec, room);
        let more = e.b.iadd(count, one);
        e.set_local(counters.emitted, more, Some(lanes));
        if counters.streams.is_some() {
            e.set_local(latest, more, Some(lanes));
            let at = e.shl_const(count, 2);
            let number = e.b.i32(number);
            e.b.store(flags, at, number, Some(lanes));
        }
    }
    if cut {
        let count = e.local(latest);
        let zero = e.b.i32(0);
        let any = e.b.icmp(IntCC::Ne, count, zero);
        let lanes = e.b.iand(exec, any);
        let last = e.b.isub(count, one);
        let at = e.shl_const(last, 2);
        let set = e.b.i32(number | 1);
        e.b.store(flags, at, set, Some(lanes));
    }
    true
}
