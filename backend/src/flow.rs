//! Control flow of a region in host code: blocks in order, edges, fuel, ends. Both code generators write it this way, each with
//! instructions of its own ([`Flow`]).

use warpjit_ir::analysis::Cfg;
use warpjit_ir::function::{BlockCall, Terminator};
use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Block, Function, Imm, Inst, InstData, Opcode, PureFn, Value};

use crate::context::{STOPPED, at};
use crate::error::Error;
use crate::operands::malformed;
use crate::options::Options;

/// Reachable blocks in the order they are written.
pub(crate) struct Order {
    /// Reverse postorder.
    pub blocks: Vec<Block>,
    /// Place of each block; `usize::MAX` where unreachable.
    position: Vec<usize>,
}

impl Order {
    pub fn new(f: &Function) -> Order {
        let cfg = Cfg::new(f);
        let position = cfg.rpo_index.iter().map(|p| p.map_or(usize::MAX, |p| p as usize)).collect();
        Order { blocks: cfg.rpo, position }
    }

    /// Whether an edge leads back, to where loops take fuel.
    pub fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.position[to.index()] <= self.position[from.index()]
    }

    /// Loops around each block of the order. By back edges over the order: exact for reducible graphs whose loops are
    /// contiguous in it, and only a heuristic otherwise.
    pub fn loop_depths(&self, f: &Function) -> Vec<u32> {
        let mut depth = vec![0u32; self.blocks.len()];
        for (i, &b) in self.blocks.iter().enumerate() {
            f.term(b).for_each_successor(|s| {
                let start = self.position[s.index()];
                if start <= i {
                    depth[start..=i].iter_mut().for_each(|d| *d += 1);
                }
            });
        }
        depth
    }
}

/// Blocks of the host function.
pub(crate) struct HostBlocks<B> {
    pub order: Order,
    /// The block that is written.
    pub current: Block,
    /// By block of the region.
    of: Vec<Option<B>>,
    /// Records a fault.
    pub fault: Option<B>,
    /// Ends the region because the fuel's owner says so.
    stop: Option<B>,
}

impl<B: Copy> HostBlocks<B> {
    pub fn new(f: &Function, order: Order) -> HostBlocks<B> {
        HostBlocks { order, current: f.entry, of: vec![None; f.blocks.len()], fault: None, stop: None }
    }

    /// Says where jumps to a block go that are written from now on.
    pub fn replace(&mut self, b: Block, host: B) {
        self.of[b.index()] = Some(host);
    }

    fn get(&self, b: Block) -> Result<B, Error> {
        let known = self.of.get(b.index()).copied().flatten();
        known.ok_or_else(|| Error::Malformed(format!("jump to unknown {b}")))
    }
}

/// Where the parameters of the fault block go: pc, space, store, bytes, lane of the chunk, address.
pub(crate) const FAULT_FIELDS: [i32; 6] =
    [at::FAULT_PC, at::FAULT_SPACE, at::FAULT_STORE, at::FAULT_BYTES, at::FAULT_LANE, at::FAULT_ADDRESS];

/// A code generator, as far as control flow goes.
pub(crate) trait Flow<'a> {
    /// A register of the host.
    type Reg: Copy;
    /// A block of the host.
    type HostBlock: Copy;
    /// What a branch asks.
    type Condition;

    fn region(&self) -> (&'a Function, &'a Options);
    fn host_blocks(&mut self) -> &mut HostBlocks<Self::HostBlock>;

    // Instructions.

    fn new_block(&mut self) -> Self::HostBlock;
    fn new_cold_block(&mut self) -> Self::HostBlock;
    /// The block that code of a block of the region begins in.
    fn new_block_of(&mut self, _: Block) -> Self::HostBlock {
        self.new_block()
    }
    /// A cold block with parameters for [`FAULT_FIELDS`].
    fn new_fault_block(&mut self) -> Self::HostBlock;
    fn switch_to(&mut self, block: Self::HostBlock);
    fn jump(&mut self, to: Self::HostBlock, args: &[Self::Reg]);
    fn branch(
        &mut self,
        condition: Self::Condition,
        taken: (Self::HostBlock, &[Self::Reg]),
        next: (Self::HostBlock, &[Self::Reg]),
    );
    /// Leaves the host function with an exit.
    fn leave(&mut self, exit: u64);
    /// Goes to the next chunk; 0 for the exit that the chunks before came out at.
    fn next_chunk(&mut self, exit: u64);
    /// Takes fuel; holds where there is none left.
    fn take_fuel(&mut self) -> Self::Condition;
    /// Asks the fuel's owner; holds where the region is to stop.
    fn poll(&mut self) -> Self::Condition;
    /// Puts the lanes of a mask, or those that it adds, into the context.
    fn leave_lanes(&mut self, mask: Option<Value>, offset: i32, add: bool) -> Result<(), Error>;
    /// Writes what stands behind the region's blocks.
    fn end_loops(&mut self);
    /// The code of [`HostBlocks::fault`], where there is one.
    fn fault_code(&mut self);
    /// Counts the instructions of a block for the lanes of its mask.
    fn count(&mut self, mask: Value, guest_insts: u32) -> Result<(), Error>;

    // Values.

    /// Gives a block its parameters.
    fn declare_params(&mut self, b: Block, host: Self::HostBlock);
    /// Starts a block's code: forgets what is good only within a block, makes of the parameters what is needed.
    fn start_block(&mut self, b: Block) -> Result<(), Error>;
    /// Writes the instructions of a block from one on; gives the next one.
    fn insts_from(&mut self, b: Block, start: usize, inst: Inst) -> Result<usize, Error>;
    /// Says where the terminator's code comes from.
    fn locate_terminator(&mut self, b: Block);
    /// Adds an argument in the form of the parameter it is for.
    fn edge_arg(&mut self, param: Value, arg: Value, list: &mut Vec<Self::Reg>) -> Result<(), Error>;
    /// The condition of a branch and the arguments of its edges, in the order the generator makes them.
    fn branch_operands(
        &mut self,
        condition: Value,
        taken: &BlockCall,
        next: &BlockCall,
    ) -> Result<BranchOperands<Self::Condition, Self::Reg>, Error>;
    /// Adds what the generator itself passes to a block.
    fn more_args(&mut self, _to: Block, _list: &mut Vec<Self::Reg>) {}
    /// Jumps back as the generator wants it for this edge; `false` where it is one like others.
    fn own_way_back(
        &mut self,
        _from: Block,
        _to: Block,
        _target: Self::HostBlock,
        _args: &[Self::Reg],
    ) -> bool {
        false
    }
    fn slot_get(&mut self, data: &InstData, slot: usize) -> Result<(), Error>;
    fn slot_set(&mut self, data: &InstData, slot: usize) -> Result<(), Error>;
    fn call_pure(&mut self, data: &InstData, pure: &'static PureFn) -> Result<(), Error>;

    // What is the same for all.

    /// The region's code for one chunk.
    fn body(&mut self) -> Result<(), Error> {
        let (f, _) = self.region();
        if !f.block(f.entry).params.is_empty() {
            return Err(Error::Malformed("the entry block has parameters".into()));
        }
        let order = self.host_blocks().order.blocks.clone();
        for &b in &order {
            let host = self.new_block_of(b);
            self.host_blocks().of[b.index()] = Some(host);
            self.declare_params(b, host);
        }
        let first = self.host_blocks().get(f.entry)?;
        self.jump(first, &[]);
        for &b in &order {
            self.block(b)?;
        }
        self.end_loops();
        self.fault_code();
        if let Some(stop) = self.host_blocks().stop {
            self.switch_to(stop);
            self.leave(STOPPED);
        }
        Ok(())
    }

    fn block(&mut self, b: Block) -> Result<(), Error> {
        let (f, options) = self.region();
        let host = self.host_blocks().get(b)?;
        self.switch_to(host);
        self.host_blocks().current = b;
        self.start_block(b)?;
        let data = f.block(b);
        let mut next = 0;
        while let Some(&inst) = data.insts.get(next) {
            next = self.insts_from(b, next, inst)?;
        }
        let mask = options.block_masks.get(b.index()).copied().flatten();
        if let (true, Some(mask)) = (options.count && data.guest_insts != 0, mask) {
            self.count(mask, data.guest_insts)?;
        }
        self.locate_terminator(b);
        self.terminator(b)
    }

    fn terminator(&mut self, b: Block) -> Result<(), Error> {
        match self.region().0.term(b) {
            Terminator::Jump(call) => {
                let args = self.edge_args(call)?;
                self.go(b, call.block, &args)
            }
            Terminator::BrIf { cond, taken, next } | Terminator::BrAny { mask: cond, taken, next } => {
                let operands = self.branch_operands(*cond, taken, next)?;
                let taken = self.edge(b, taken.block, operands.taken)?;
                let next = self.edge(b, next.block, operands.next)?;
                self.branch(operands.condition, taken.direct(), next.direct());
                for edge in [taken, next] {
                    if edge.back {
                        self.switch_to(edge.host);
                        self.go(b, edge.to, &edge.args)?;
                    }
                }
                Ok(())
            }
            Terminator::Return { exit, exited, .. } if *exit >= FAULT_EXIT => {
                // A guest fault ends all; the lanes concerned are in `exited`.
                self.leave_lanes(*exited, at::EXITED, false)?;
                self.leave(u64::from(*exit));
                Ok(())
            }
            Terminator::Return { exit, exited, cond } => {
                for (mask, offset) in [(exited, at::EXITED), (cond, at::COND)] {
                    if mask.is_some() {
                        self.leave_lanes(*mask, offset, true)?;
                    }
                }
                // Chunks whose threads have all ended come out at 0; the others agree.
                self.next_chunk(u64::from(*exit));
                Ok(())
            }
            _ => Err(Error::Malformed(format!("{b} does not end in mask form"))),
        }
    }

    /// Arguments of an edge in the forms of the target's parameters.
    fn edge_args(&mut self, call: &BlockCall) -> Result<Vec<Self::Reg>, Error> {
        let params = &self.region().0.block(call.block).params;
        if params.len() != call.args.len() {
            return Err(Error::Malformed(format!("{} takes {} arguments", call.block, params.len())));
        }
        let mut list = Vec::new();
        for (&param, &arg) in params.iter().zip(&call.args) {
            self.edge_arg(param, arg, &mut list)?;
        }
        self.more_args(call.block, &mut list);
        Ok(list)
    }

    /// Where a branch goes: the target, or a block of its own for a back edge.
    fn edge(
        &mut self,
        from: Block,
        to: Block,
        args: Vec<Self::Reg>,
    ) -> Result<Edge<Self::HostBlock, Self::Reg>, Error> {
        let back = self.host_blocks().order.is_back_edge(from, to);
        let host = if back { self.new_block() } else { self.host_blocks().get(to)? };
        Ok(Edge { to, host, back, args })
    }

    /// Jumps; back edges take fuel.
    fn go(&mut self, from: Block, to: Block, args: &[Self::Reg]) -> Result<(), Error> {
        let target = self.host_blocks().get(to)?;
        match self.host_blocks().order.is_back_edge(from, to) {
            true if self.own_way_back(from, to, target, args) => {}
            true => self.go_back(target, args),
            false => self.jump(target, args),
        }
        Ok(())
    }

    /// Jumps to the head of a loop.
    fn go_back(&mut self, target: Self::HostBlock, args: &[Self::Reg]) {
        let poll = self.new_cold_block();
        let spent = self.take_fuel();
        self.branch(spent, (poll, &[]), (target, args));
        self.switch_to(poll);
        let stop = self.stop_block();
        let told = self.poll();
        self.branch(told, (stop, &[]), (target, args));
    }

    /// The block that ends the region because the fuel's owner says so.
    fn stop_block(&mut self) -> Self::HostBlock {
        let stop = match self.host_blocks().stop {
            Some(b) => b,
            None => self.new_cold_block(),
        };
        self.host_blocks().stop = Some(stop);
        stop
    }

    /// The block that records a fault; its parameters are [`FAULT_FIELDS`].
    fn fault_target(&mut self) -> Self::HostBlock {
        if let Some(b) = self.host_blocks().fault {
            return b;
        }
        let b = self.new_fault_block();
        self.host_blocks().fault = Some(b);
        b
    }

    /// Slots and calls.
    fn control(&mut self, data: &InstData) -> Result<(), Error> {
        let slots = self.region().0.slots.len();
        match (data.op, data.imm) {
            (Opcode::SlotGet, Imm::Slot(slot)) if slot.index() < slots => self.slot_get(data, slot.index()),
            (Opcode::SlotSet, Imm::Slot(slot)) if slot.index() < slots => self.slot_set(data, slot.index()),
            (Opcode::CallPure, Imm::Pure(pure))
                if data.args.len() == pure.params.len() && data.args.len() <= 4 =>
            {
                self.call_pure(data, pure)
            }
            _ => Err(malformed(data)),
        }
    }
}

/// What a branch needs.
pub(crate) struct BranchOperands<C, R> {
    pub condition: C,
    pub taken: Vec<R>,
    pub next: Vec<R>,
}

/// One way of a branch.
pub(crate) struct Edge<B, R> {
    to: Block,
    /// Where the branch goes.
    host: B,
    /// Whether that is a block of its own, which goes on with the arguments.
    back: bool,
    args: Vec<R>,
}

impl<B: Copy, R> Edge<B, R> {
    /// What the branch itself is told.
    fn direct(&self) -> (B, &[R]) {
        (self.host, if self.back { &[] } else { &self.args })
    }
}
