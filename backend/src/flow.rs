//! Emits the control flow of a region: its blocks in reverse postorder, edges, fuel tests on back edges, exits. Both code
//! generators share it; each implements [`Flow`] with its own instructions.

use warpjit_ir::analysis::Cfg;
use warpjit_ir::function::{BlockCall, Terminator};
use warpjit_ir::regions::promote::FAULT_EXIT;
use warpjit_ir::{Block, Function, Imm, Inst, InstData, Opcode, PureFn, Value};

use crate::context::{STOPPED, at};
use crate::error::Error;
use crate::operands::malformed;
use crate::options::Options;

/// The reachable blocks in the order in which they are emitted.
pub(crate) struct Order {
    /// Reverse postorder.
    pub blocks: Vec<Block>,
    /// The index of each block in `blocks`; `usize::MAX` if unreachable.
    position: Vec<usize>,
}

impl Order {
    pub fn new(f: &Function) -> Order {
        let cfg = Cfg::new(f);
        let position = cfg.rpo_index.iter().map(|p| p.map_or(usize::MAX, |p| p as usize)).collect();
        Order { blocks: cfg.rpo, position }
    }

    /// Whether an edge is a back edge. Loops take fuel there.
    pub fn is_back_edge(&self, from: Block, to: Block) -> bool {
        self.position[to.index()] <= self.position[from.index()]
    }

    /// Loop depth of each block of the order, counted as the back edges that span it. Exact for reducible graphs whose
    /// loops are contiguous in the order, otherwise a heuristic.
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

/// The blocks of the host function.
pub(crate) struct HostBlocks<B> {
    pub order: Order,
    /// The region's block that is being emitted.
    pub current: Block,
    /// For each block of the region: the host block where its code starts.
    of: Vec<Option<B>>,
    /// The block that records a fault.
    pub fault: Option<B>,
    /// The block that ends the region because the poll function said so.
    stop: Option<B>,
}

impl<B: Copy> HostBlocks<B> {
    pub fn new(f: &Function, order: Order) -> HostBlocks<B> {
        HostBlocks { order, current: f.entry, of: vec![None; f.blocks.len()], fault: None, stop: None }
    }

    /// Redirects jumps to a block that are emitted from now on.
    pub fn replace(&mut self, b: Block, host: B) {
        self.of[b.index()] = Some(host);
    }

    fn get(&self, b: Block) -> Result<B, Error> {
        let known = self.of.get(b.index()).copied().flatten();
        known.ok_or_else(|| Error::Malformed(format!("jump to unknown {b}")))
    }
}

/// What a code generator provides for control flow.
pub(crate) trait Flow<'a> {
    /// A register of the host.
    type Reg: Copy;
    /// A block of the host.
    type HostBlock: Copy;
    /// A branch condition.
    type Condition;

    fn region(&self) -> (&'a Function, &'a Options);
    fn host_blocks(&mut self) -> &mut HostBlocks<Self::HostBlock>;

    // Instructions.

    fn new_block(&mut self) -> Self::HostBlock;
    fn new_cold_block(&mut self) -> Self::HostBlock;
    /// Makes the host block in which the code of a region's block starts.
    fn new_block_of(&mut self, _: Block) -> Self::HostBlock {
        self.new_block()
    }
    /// A cold block that records a fault. Its parameters are the generator's; the lane of the chunk and the address are among them.
    fn new_fault_block(&mut self) -> Self::HostBlock;
    fn switch_to(&mut self, block: Self::HostBlock);
    fn jump(&mut self, to: Self::HostBlock, args: &[Self::Reg]);
    fn branch(
        &mut self,
        condition: Self::Condition,
        taken: (Self::HostBlock, &[Self::Reg]),
        next: (Self::HostBlock, &[Self::Reg]),
    );
    /// Returns from the host function with an exit number.
    fn leave(&mut self, exit: u64);
    /// Continues with the next chunk. `exit` is this chunk's exit; 0 means all its threads have ended, and leaves the
    /// exit of the earlier chunks as it is.
    fn next_chunk(&mut self, exit: u64);
    /// Takes fuel; the condition holds if none is left.
    fn take_fuel(&mut self) -> Self::Condition;
    /// Calls the poll function; the condition holds if the region is to stop.
    fn poll(&mut self) -> Self::Condition;
    /// Stores the lanes of a mask into the context at `offset`, or with `add` adds them to the lanes there.
    fn leave_lanes(&mut self, mask: Option<Value>, offset: i32, add: bool) -> Result<(), Error>;
    /// Emits the code after the region's blocks.
    fn end_loops(&mut self) -> Result<(), Error>;
    /// Emits the code of [`HostBlocks::fault`], if there is such a block.
    fn fault_code(&mut self);
    /// Counts the instructions of a block for the lanes of its mask.
    fn count(&mut self, mask: Value, guest_insts: u32) -> Result<(), Error>;

    // Values.

    /// Declares the parameters of a block.
    fn declare_params(&mut self, b: Block, host: Self::HostBlock);
    /// Starts a block's code: drops facts that hold only within a block and prepares the parameters.
    fn start_block(&mut self, b: Block) -> Result<(), Error>;
    /// Emits one or more instructions of a block, starting with number `start`; returns the number of the next one.
    fn insts_from(&mut self, b: Block, start: usize, inst: Inst) -> Result<usize, Error>;
    /// Attributes the following code to the terminator's guest address.
    fn locate_terminator(&mut self, b: Block);
    /// Appends an argument in the representation of its parameter.
    fn edge_arg(&mut self, param: Value, arg: Value, list: &mut Vec<Self::Reg>) -> Result<(), Error>;
    /// Emits the condition of a branch and the arguments of its edges, in the order that the generator prefers.
    fn branch_operands(
        &mut self,
        condition: Value,
        taken: &BlockCall,
        next: &BlockCall,
    ) -> Result<BranchOperands<Self::Condition, Self::Reg>, Error>;
    /// Appends arguments that the generator itself passes to a block.
    fn more_args(&mut self, _to: Block, _list: &mut Vec<Self::Reg>) {}
    /// The successor that a branch of the region certainly takes, without arguments.
    fn decided(&self, _: Block) -> Option<Block> {
        None
    }
    /// Whether what a block does is done elsewhere.
    fn is_done(&self, _: Block) -> bool {
        false
    }
    /// Emits a back edge that the generator treats specially; `false` if the edge is an ordinary one.
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
        let mut order = self.host_blocks().order.blocks.clone();
        order.retain(|&b| !self.is_done(b));
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
        self.end_loops()?;
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
        if let Some(to) = self.decided(b) {
            return self.go(b, to, &[]);
        }
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
                // A guest fault ends the run. `exited` holds the faulting lanes.
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
                // Chunks whose threads have all ended take exit 0; all other chunks take the same exit.
                self.next_chunk(u64::from(*exit));
                Ok(())
            }
            _ => Err(Error::Malformed(format!("{b} does not end in mask form"))),
        }
    }

    /// Emits the arguments of an edge, in the representations of the target's parameters.
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

    /// The destination of a branch: the target, or for a back edge a new block that takes fuel.
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

    /// Emits a jump; back edges take fuel.
    fn go(&mut self, from: Block, to: Block, args: &[Self::Reg]) -> Result<(), Error> {
        let target = self.host_blocks().get(to)?;
        match self.host_blocks().order.is_back_edge(from, to) {
            true if self.own_way_back(from, to, target, args) => {}
            true => self.go_back(target, args),
            false => self.jump(target, args),
        }
        Ok(())
    }

    /// Emits a jump to the head of a loop.
    fn go_back(&mut self, target: Self::HostBlock, args: &[Self::Reg]) {
        let poll = self.new_cold_block();
        let spent = self.take_fuel();
        self.branch(spent, (poll, &[]), (target, args));
        self.switch_to(poll);
        let stop = self.stop_block();
        let told = self.poll();
        self.branch(told, (stop, &[]), (target, args));
    }

    /// The block that ends the region because the poll function said so.
    fn stop_block(&mut self) -> Self::HostBlock {
        let stop = match self.host_blocks().stop {
            Some(b) => b,
            None => self.new_cold_block(),
        };
        self.host_blocks().stop = Some(stop);
        stop
    }

    /// The block that records a fault ([`Flow::new_fault_block`]).
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

/// The condition of a branch and the arguments of its edges.
pub(crate) struct BranchOperands<C, R> {
    pub condition: C,
    pub taken: Vec<R>,
    pub next: Vec<R>,
}

/// One edge of a branch.
pub(crate) struct Edge<B, R> {
    to: Block,
    /// Where the branch goes.
    host: B,
    /// Whether that is a new block, which passes the arguments on.
    back: bool,
    args: Vec<R>,
}

impl<B: Copy, R> Edge<B, R> {
    /// The destination and arguments to put into the branch instruction itself.
    fn direct(&self) -> (B, &[R]) {
        (self.host, if self.back { &[] } else { &self.args })
    }
}
