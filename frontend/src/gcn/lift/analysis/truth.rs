//! Finds masks that hold one truth value for all lanes, so that a branch on such a mask needs no vote. Compilers keep uniform
//! conditions in such masks.
//!
//! Example: `s_cselect_b64 m, -1, 0` gives every lane of `m` the same truth value. `s_andn2_b64 vcc, exec, m` and
//! `s_cbranch_vccnz` then decide a loop. If EXEC is known not to be empty, the branch depends on that truth value alone. The
//! analysis runs forward, as part of [`Statics`](super::statics::Statics). The truth value has a slot of its own beside the mask.

use super::effects::Effects;
use super::logic::{Logic, logic_of};
use crate::gcn::lift::slots::{EXEC, VCC};
use crate::gcn::{Arg, Inst, Op};

/// How a mask relates to its truth value.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum Kind {
    /// Every lane's bit is the truth value.
    Splat,
    /// The mask is non-empty if and only if the truth value is true.
    Any,
}

/// A truth value of an operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) enum Leaf {
    Const(bool),
    /// In the slot of the pair.
    Pair(u8),
}

/// How a truth value comes about.
#[derive(Clone, Copy, Debug)]
pub(in crate::gcn::lift) enum Combine {
    Copy,
    Not,
    Select,
    Logic(Logic),
}

/// What the truth value of a result is made of.
#[derive(Clone, Copy, Debug)]
pub(in crate::gcn::lift) struct Derived {
    pub(in crate::gcn::lift) kind: Kind,
    pub(in crate::gcn::lift) how: Combine,
    pub(in crate::gcn::lift) a: Leaf,
    pub(in crate::gcn::lift) b: Leaf,
}

/// What is known of an operand or result.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::gcn::lift) struct Known {
    pub(in crate::gcn::lift) truth: Option<Derived>,
    pub(in crate::gcn::lift) nonempty: bool,
}

/// What is known of all pairs at a point of the program: sets of pairs, a bit each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) struct Truths {
    /// Pairs that hold at least one lane.
    nonempty: u128,
    /// Pairs with a truth value of [`Kind::Splat`].
    splat: u128,
    /// Pairs with a truth value of [`Kind::Any`].
    any: u128,
}

fn bit(code: u8) -> u128 {
    1 << (code / 2)
}

impl Truths {
    /// At the program's entry: a wave has at least one thread.
    pub(in crate::gcn::lift) fn entry() -> Truths {
        Truths { nonempty: bit(EXEC), ..Truths::nothing() }
    }

    /// Where nothing is known.
    pub(in crate::gcn::lift) fn nothing() -> Truths {
        Truths { nonempty: 0, splat: 0, any: 0 }
    }

    /// How the truth value of a pair goes with it, if it has one.
    fn kind(&self, code: u8) -> Option<Kind> {
        if self.splat & bit(code) != 0 {
            Some(Kind::Splat)
        } else {
            (self.any & bit(code) != 0).then_some(Kind::Any)
        }
    }

    /// Nothing is known of a pair.
    fn forget(&mut self, code: u8) {
        for set in [&mut self.nonempty, &mut self.splat, &mut self.any] {
            *set &= !bit(code);
        }
    }

    /// Keeps what `other` knows too.
    pub(in crate::gcn::lift) fn meet(&mut self, other: &Truths) {
        self.nonempty &= other.nonempty;
        let both = (self.splat | self.any) & (other.splat | other.any);
        self.splat &= other.splat;
        self.any = both & !self.splat;
    }

    /// What is known on the way to `to` from a branch.
    pub(in crate::gcn::lift) fn refine(&mut self, branch: &Inst, to: u32) {
        let (next, target) = (branch.next_pc() as u32, branch.target_pc.map(|pc| pc as u32));
        let (code, at_target) = match branch.op {
            Op::S_CBRANCH_EXECZ => (EXEC, false),
            Op::S_CBRANCH_EXECNZ => (EXEC, true),
            Op::S_CBRANCH_VCCZ => (VCC, false),
            Op::S_CBRANCH_VCCNZ => (VCC, true),
            _ => return,
        };
        if target != Some(next) && (to == next) != at_target {
            self.nonempty |= bit(code);
        }
    }

    /// What is known behind an instruction.
    pub(in crate::gcn::lift) fn step(&mut self, inst: &Inst, fx: &Effects) {
        let results = self.results(inst);
        for pair in fx.writes.iter().map(|&(pair, _)| pair).chain(fx.may_write.iter().copied()) {
            self.forget(pair);
        }
        for (code, known) in results {
            // Both may be EXEC; the last one stays.
            self.forget(code);
            if known.nonempty {
                self.nonempty |= bit(code);
            }
            match kept(known).map(|derived| derived.kind) {
                Some(Kind::Splat) => self.splat |= bit(code),
                Some(Kind::Any) => self.any |= bit(code),
                None => {}
            }
        }
    }

    /// Pairs that an instruction writes with what is known of them then.
    pub(in crate::gcn::lift) fn results(&self, inst: &Inst) -> Vec<(u8, Known)> {
        let Some(code) = inst.dst.and_then(|dst| dst.operand.scalar_code()) else { return Vec::new() };
        let code = code & !1;
        let a = self.operand(&inst.src(0));
        let exec = self.pair(EXEC);
        match inst.op {
            Op::S_MOV_B64 => vec![(code, combine(Combine::Copy, a, a))],
            Op::S_NOT_B64 => vec![(code, combine(Combine::Not, a, a))],
            Op::S_CSELECT_B64 => vec![(code, combine(Combine::Select, a, self.operand(&inst.src(1))))],
            Op::S_CMOV_B64 => vec![(code, combine(Combine::Select, a, self.pair(code)))],
            op if super::effects::is_exec_op(op) => {
                let Some(op) = logic_of(op) else { return Vec::new() };
                let result = combine(Combine::Logic(op), a, exec);
                let wrexec = matches!(inst.op, Op::S_ANDN1_WREXEC_B64 | Op::S_ANDN2_WREXEC_B64);
                let dst = if wrexec { result } else { combine(Combine::Copy, exec, exec) };
                vec![(code, dst), (EXEC, result)]
            }
            op if super::effects::is_flexible(op) => match logic_of(op) {
                Some(op) => vec![(code, combine(Combine::Logic(op), a, self.operand(&inst.src(1))))],
                None => Vec::new(),
            },
            _ => Vec::new(),
        }
    }

    pub(in crate::gcn::lift) fn pair(&self, code: u8) -> Operand {
        let nonempty = self.nonempty & bit(code) != 0;
        let truth = match self.kind(code) {
            Some(Kind::Splat) => Some((Kind::Splat, Leaf::Pair(code & !1))),
            _ if nonempty => Some((Kind::Any, Leaf::Const(true))),
            Some(Kind::Any) => Some((Kind::Any, Leaf::Pair(code & !1))),
            None => None,
        };
        Operand { truth, nonempty }
    }

    fn operand(&self, arg: &Arg) -> Operand {
        if let Some(code) = arg.operand.scalar_code() {
            return self.pair(code);
        }
        let all = match arg.constant() {
            Some(0) => false,
            Some(u64::MAX) => true,
            other => return Operand { truth: None, nonempty: other.is_some() },
        };
        Operand { truth: Some((Kind::Splat, Leaf::Const(all))), nonempty: all }
    }
}

/// What is known of an operand.
#[derive(Clone, Copy)]
pub(in crate::gcn::lift) struct Operand {
    pub(in crate::gcn::lift) truth: Option<(Kind, Leaf)>,
    nonempty: bool,
}

fn combine(how: Combine, a: Operand, b: Operand) -> Known {
    let nonempty = match how {
        Combine::Copy => a.nonempty,
        Combine::Select => a.nonempty && b.nonempty,
        Combine::Logic(Logic::Or) => a.nonempty || b.nonempty,
        _ => false,
    };
    let truth = a.truth.zip(b.truth).and_then(|((kind_a, a), (kind_b, b))| {
        let splats = (kind_a == Kind::Splat, kind_b == Kind::Splat);
        let kind = if splats == (true, true) { Kind::Splat } else { Kind::Any };
        let holds = match how {
            Combine::Copy | Combine::Select | Combine::Logic(Logic::Or) => true,
            // One of both decides for all lanes; of a complement it has to be that one.
            Combine::Logic(Logic::And) => splats.0 || splats.1,
            Combine::Logic(Logic::Andn2) => splats.1,
            Combine::Logic(Logic::Andn1) => splats.0,
            _ => splats == (true, true),
        };
        holds.then_some(Derived { kind, how, a, b })
    });
    Known { truth, nonempty }
}

/// The truth value that is worth a slot: not where it can only be true.
pub(in crate::gcn::lift) fn kept(known: Known) -> Option<Derived> {
    known.truth.filter(|derived| derived.kind == Kind::Splat || !known.nonempty)
}
