//! Decides for each scalar pair whether it is kept as two numbers, as a lane mask, or both.
//!
//! A mask (the result of a compare, EXEC, or what is computed from these) is in the *lane view* of its pair: a mask slot, in
//! which each lane needs only its own bit. The *scalar view* is two i32 slots. A ballot makes the scalar view from the lane view,
//! and only where an instruction reads the pair as a number; in the other direction each lane takes its bit. Three data-flow
//! analyses decide at compile time:
//!
//! 1. forward: which pairs hold masks. This decides for 64-bit logic, which works on both, what it works on;
//! 2. backward: how each pair is read next, if at all; the same for SCC;
//! 3. forward: which views are valid at the start of each block. Where edges disagree, the block starts with the view that is
//!    read next (the lane view if both are), and the other edges convert.

use std::collections::{BTreeMap, BTreeSet};

use warpjit_ir::{Meter, Stopped};

use super::effects::{Effects, is_flexible, names_exec};
use super::graph::{Graph, Node};
use super::view::{HI, LANE, LO, View, Views};
use crate::gcn::lift::options::Options;
use crate::gcn::lift::slots::{EXEC, SGPRS, VCC};
use crate::gcn::{Inst, Op};

/// What is read after a point of the program.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(in crate::gcn::lift) struct Live {
    pub(in crate::gcn::lift) views: Views,
    pub(in crate::gcn::lift) scc: bool,
}

impl Live {
    fn none() -> Live {
        Live { views: Views::none(), scc: false }
    }

    fn join(&mut self, other: &Live) -> bool {
        let views = self.views.join(&other.views);
        let scc = other.scc && !self.scc;
        self.scc |= other.scc;
        views || scc
    }

    /// Before an instruction, from behind it.
    fn step_back(&mut self, inst: &Inst, in_lanes: bool) {
        let fx = Effects::of(inst, in_lanes);
        for &(pair, written) in &fx.writes {
            let live = self.views.get(pair);
            let live = match written {
                LO | HI => {
                    let other = (LO | HI) & !written;
                    // The mask needs the half that stays.
                    let kept = if live & LANE != 0 { other } else { 0 };
                    live & other | kept
                }
                _ => 0,
            };
            self.views.set(pair, live);
        }
        for &(pair, read) in &fx.reads {
            self.views.set(pair, self.views.get(pair) | read);
        }
        self.scc = self.scc && !fx.writes_scc || fx.reads_scc;
    }
}

/// The results.
pub(in crate::gcn::lift) struct Analysis {
    /// Flexible instructions that work on masks, by address.
    in_lanes: BTreeSet<u32>,
    live_in: BTreeMap<u32, Live>,
    entry: BTreeMap<u32, Views>,
    /// What is read where an indirect branch can go.
    pub(in crate::gcn::lift) indirect_live: Live,
    observed: Live,
    /// Nothing is known: all is read everywhere, and blocks begin with numbers.
    pub(in crate::gcn::lift) plain: bool,
}

impl Analysis {
    /// Runs the analyses.
    pub(in crate::gcn::lift) fn new(
        graph: &Graph,
        options: &Options<'_>,
        meter: &Meter,
    ) -> Result<Analysis, Stopped> {
        meter.stage("views of scalar registers")?;
        let mut observed = Live::none();
        if options.observed {
            let last = options.sgprs.min(SGPRS.into()) as u8;
            (0..last).step_by(2).chain([VCC, EXEC]).for_each(|code| observed.views.set(code, LO | HI));
        }
        let mut analysis = Analysis {
            in_lanes: BTreeSet::new(),
            live_in: BTreeMap::new(),
            entry: BTreeMap::new(),
            indirect_live: Live::none(),
            observed,
            plain: false,
        };
        /// The size of what the analyses keep for a block: views that are read, views that are valid, pairs that hold masks.
        const BYTES: usize = size_of::<Live>() + size_of::<Views>() + 5 * size_of::<u128>();
        meter.hold(graph.nodes().count() * BYTES)?;
        analysis.find_masks(graph, meter)?;
        analysis.find_live(graph, meter)?;
        analysis.find_entry_views(graph, meter)?;
        Ok(analysis)
    }

    /// What is right without an analysis; tests hold the other one against it.
    #[cfg(test)]
    pub(in crate::gcn::lift) fn plain() -> Analysis {
        let all = Live { views: Views::all(), scc: true };
        Analysis {
            in_lanes: BTreeSet::new(),
            live_in: BTreeMap::new(),
            entry: BTreeMap::new(),
            indirect_live: all,
            observed: all,
            plain: true,
        }
    }

    /// Whether an instruction that could do either works on masks.
    pub(in crate::gcn::lift) fn in_lanes(&self, inst: &Inst) -> bool {
        self.in_lanes.contains(&(inst.pc as u32))
    }

    /// The views that hold at the begin of a block.
    pub(in crate::gcn::lift) fn entry(&self, start: u32) -> Views {
        self.entry.get(&start).copied().unwrap_or(Views::all_scalar())
    }

    /// What is read at the begin of a block.
    pub(in crate::gcn::lift) fn live_at(&self, start: u32) -> Option<Live> {
        self.live_in.get(&start).copied()
    }

    /// What is read behind each instruction of a block.
    pub(in crate::gcn::lift) fn live_behind(&self, node: &Node) -> Vec<Live> {
        let mut live = self.live_out(node);
        if self.plain {
            return vec![live; node.insts.len()];
        }
        let mut all = Vec::with_capacity(node.insts.len());
        for inst in node.insts.iter().rev() {
            all.push(live);
            live.step_back(inst, self.in_lanes(inst));
        }
        all.reverse();
        all
    }

    fn live_out(&self, node: &Node) -> Live {
        if self.plain {
            return self.observed;
        }
        let mut live = Live::none();
        for to in &node.successors {
            if let Some(at) = self.live_in.get(to) {
                live.join(at);
            }
        }
        if node.indirect {
            live.join(&self.indirect_live);
            // Nothing says whether what is jumped to looks at it.
            live.scc = true;
        }
        let ends =
            |inst: &Inst| matches!(inst.op, Op::S_ENDPGM | Op::S_ENDPGM_SAVED | Op::S_ENDPGM_ORDERED_PS_DONE);
        if node.insts.last().is_some_and(ends) {
            live.join(&self.observed);
        }
        live
    }

    fn find_masks(&mut self, graph: &Graph, meter: &Meter) -> Result<(), Stopped> {
        let mut entry: BTreeMap<u32, u128> = BTreeMap::new();
        let mut indirect = 0;
        let mut work: BTreeSet<u32> = graph.nodes().map(|(start, _)| start).collect();
        while let Some(start) = work.pop_first() {
            let Some(node) = graph.node(start) else { continue };
            meter.step(1 + node.insts.len())?;
            let mut masks = entry.get(&start).copied().unwrap_or(0) | 1 << (EXEC / 2);
            for inst in &node.insts {
                self.step_masks(inst, &mut masks);
            }
            let mut flow = |to: u32| {
                let at = entry.entry(to).or_insert(0);
                if *at | masks != *at {
                    *at |= masks;
                    work.insert(to);
                }
            };
            node.successors.iter().copied().for_each(&mut flow);
            if node.indirect && indirect | masks != indirect {
                indirect |= masks;
                graph.indirect_targets().for_each(flow);
            }
        }
        Ok(())
    }

    fn step_masks(&mut self, inst: &Inst, masks: &mut u128) {
        let bit = |pair: u8| 1u128 << (pair / 2);
        if is_flexible(inst.op) {
            let pairs = inst.srcs().iter().filter_map(|src| src.operand.scalar_code());
            let from_mask = pairs.into_iter().any(|code| *masks & bit(code) != 0);
            if from_mask || names_exec(inst) {
                self.in_lanes.insert(inst.pc as u32);
            }
        }
        for (pair, view) in Effects::of(inst, self.in_lanes(inst)).writes {
            if view == LANE {
                *masks |= bit(pair);
            } else {
                *masks &= !bit(pair);
            }
        }
    }

    fn find_live(&mut self, graph: &Graph, meter: &Meter) -> Result<(), Stopped> {
        let mut callers: BTreeMap<u32, Vec<u32>> = BTreeMap::new();
        let mut indirect_sources = Vec::new();
        for (start, node) in graph.nodes() {
            node.successors.iter().for_each(|&to| callers.entry(to).or_default().push(start));
            if node.indirect {
                indirect_sources.push(start);
            }
        }
        let mut work: BTreeSet<u32> = graph.nodes().map(|(start, _)| start).collect();
        // What is read at the targets of jumps to unknown addresses is propagated to all these jumps at once.
        let mut sources_wait = false;
        loop {
            let Some(start) = work.pop_last() else {
                if !std::mem::take(&mut sources_wait) {
                    return Ok(());
                }
                work.extend(&indirect_sources);
                continue;
            };
            let Some(node) = graph.node(start) else { continue };
            meter.step(1 + node.insts.len())?;
            let mut live = self.live_out(node);
            for inst in node.insts.iter().rev() {
                live.step_back(inst, self.in_lanes(inst));
            }
            if !self.live_in.entry(start).or_insert(Live::none()).join(&live) {
                continue;
            }
            work.extend(callers.get(&start).into_iter().flatten());
            sources_wait |= graph.is_indirect_target(start) && self.indirect_live.join(&live);
        }
    }

    fn find_entry_views(&mut self, graph: &Graph, meter: &Meter) -> Result<(), Stopped> {
        // Pairs whose view at a block is decided for good.
        let mut decided: BTreeMap<u32, u128> = BTreeMap::new();
        let mut work = BTreeSet::new();
        for to in graph.indirect_targets() {
            let mut views = self.indirect_live.views;
            for (code, live) in self.indirect_live.views.iter() {
                views.set(code, if live == 0 { 0 } else { LO | HI });
            }
            views.set(EXEC, LANE);
            self.entry.insert(to, views);
            decided.insert(to, u128::MAX);
            work.insert(to);
        }
        let start = graph.entry();
        let mut views = Views::all_scalar();
        let live = self.live_in.get(&start).copied().unwrap_or(Live::none()).views;
        live.iter()
            .filter(|&(code, live)| live == 0 && code != EXEC)
            .for_each(|(code, _)| views.set(code, 0));
        self.entry.insert(start, views);
        decided.insert(start, u128::MAX);
        work.insert(start);
        while let Some(start) = work.pop_first() {
            let Some(node) = graph.node(start) else { continue };
            meter.step(1 + node.insts.len())?;
            let mut views = self.entry(start);
            for inst in &node.insts {
                step_views(&mut views, inst, self.in_lanes(inst));
            }
            for &to in &node.successors {
                if self.meet_views(to, &views, decided.entry(to).or_insert(0)) {
                    work.insert(to);
                }
            }
        }
        Ok(())
    }

    fn meet_views(&mut self, to: u32, views: &Views, decided: &mut u128) -> bool {
        let live = self.live_in.get(&to).copied().unwrap_or(Live::none()).views;
        let first = !self.entry.contains_key(&to);
        let entry = self.entry.entry(to).or_insert(Views::all());
        let before = *entry;
        for (code, view) in views.iter() {
            let bit = 1u128 << (code / 2);
            if *decided & bit != 0 {
                continue;
            }
            let live = live.get(code);
            let met = entry.get(code) & view;
            let met = if code == EXEC {
                met | LANE
            } else if live == 0 {
                0
            } else if live == LANE && met & LANE == 0 || !covers(met, live) {
                *decided |= bit;
                if live & LANE != 0 { LANE } else { LO | HI }
            } else {
                met
            };
            entry.set(code, met);
        }
        first || *entry != before
    }
}

/// Whether everything in `live` can be made from `view`.
fn covers(view: View, live: View) -> bool {
    let scalar = view & (LO | HI) == LO | HI;
    let half = |half: View| live & half == 0 || view & (half | LANE) != 0;
    (live & LANE == 0 || view & LANE != 0 || scalar) && half(LO) && half(HI)
}

/// What an instruction makes of the views: what it reads is converted, what it writes is left in one.
fn step_views(views: &mut Views, inst: &Inst, in_lanes: bool) {
    let fx = Effects::of(inst, in_lanes);
    for (pair, read) in fx.reads {
        let mut view = views.get(pair);
        let missing = read & (LO | HI) & !view;
        if missing != 0 && view & LANE != 0 {
            view = LO | HI | LANE;
        }
        if read & LANE != 0 {
            view |= LANE;
        }
        views.set(pair, view);
    }
    for pair in fx.may_write {
        views.set(pair, LO | HI);
    }
    for (pair, written) in fx.writes {
        let view = match written {
            LO | HI => {
                let other = (LO | HI) & !written;
                let kept = if views.get(pair) & LANE != 0 { other } else { views.get(pair) & other };
                written | kept
            }
            view => view,
        };
        views.set(pair, if pair == EXEC { view | LANE } else { view });
    }
}
