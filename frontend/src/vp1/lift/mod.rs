//! Lifts programs to the IR's SPMD form.
//!
//! A program is one warp of 16 lanes, one for each component of a vector. `$r`, `$a`, `$c`, `$l`, `$m`, `$x`, `$uc0` and `$uc16`
//! are uniform slots. `$v`, `$vx` (8 bits of value) and `$va` (28 bits) are varying slots. A `$vc` is two mask slots, the sign
//! and zero flags. The data store is shared memory in its raw layout. `$c` is kept without bit 15, which is always set.
//! [`aliases`] maps the guest's register names to slots.
//!
//! A bundle becomes a block that reads all its slots first and writes them at its end. A bundle may be the delay slot of an
//! earlier branch, so its successor depends on that branch. Therefore a block belongs to a [`Node`]: a bundle, and the branch
//! that takes effect after it. (See [`graph`](self) for the rules.)
//!
//! No code is an error here: where the code ends, a program gets an `illegal` fault.

mod analysis;
mod emit;
mod options;
mod topics;

use std::collections::BTreeMap;

use warpjit_ir::{Block, Form, Function, GuestFault, Meter, Stopped, Terminator};

use analysis::graph::{Graph, Step};
use emit::{Emit, Own};

pub use analysis::graph::{Node, Pending};
pub use analysis::outside::{Outside, outside_of};
pub use emit::state::{LANES, Slots, aliases};
pub use options::Options;
pub use topics::pure::FUNCTIONS as PURE_FUNCTIONS;

/// Bytes of the data store.
pub const DATA_STORE_BYTES: u32 = 8192;

/// Bit of [`Slots::exit`]: a bundle reaches outside. It goes on at its [`Node::resumed`].
pub const EXIT_OUTSIDE: u32 = 1 << 31;
/// Bit of [`Slots::exit`]: there is no code.
pub const EXIT_ILLEGAL: u32 = 1 << 30;
/// Bit of [`Slots::exit`]: `exit` asks for an interrupt. Its code is below.
pub const EXIT_INTERRUPT: u32 = 1 << 16;

/// A lifted program.
#[derive(Clone, Debug)]
pub struct Lifted {
    /// The code, in SPMD form.
    pub function: Function,
    /// The slots of its state. They are the same, in the same places, for every program.
    pub slots: Slots,
    /// The blocks of its bundles.
    pub nodes: BTreeMap<Node, Block>,
}

/// Lifts a program.
///
/// # Errors
/// When the meter's budget is used up or the work is cancelled.
pub fn lift(code: &[u8], options: &Options<'_>, meter: &Meter) -> Result<Lifted, Stopped> {
    let graph = Graph::explore(code, options, meter)?;
    meter.stage("lifting")?;
    let mut func = Function::new(options.name, Form::Spmd, LANES);
    let slots = Slots::declare(&mut func);
    let nodes: BTreeMap<Node, Block> =
        graph.nodes().map(|node| (node, func.add_block(node.pc.wrapping_mul(4)))).collect();
    for (address, node) in graph.addresses() {
        func.block_at.insert(address, nodes[&node]);
    }
    func.entry = nodes[&Node::at(options.entry)];
    let mut held = 0;
    for (&node, &block) in &nodes {
        meter.step(1)?;
        let mut emit = Emit::new(&mut func, block, Own::new(&slots, options.chip));
        match graph.step(node) {
            None if options.resumable => topics::branch::end(&mut emit, EXIT_ILLEGAL, block, block),
            None => {
                emit.count();
                emit.terminate(Terminator::Fault(GuestFault::Illegal));
            }
            Some(step) => bundle(&mut emit, node, step, &nodes, options.resumable),
        }
        let bytes = func.bytes();
        meter.hold(bytes - held)?;
        held = bytes;
    }
    Ok(Lifted { function: func, slots, nodes })
}

/// Emits the block of a node.
fn bundle(emit: &mut Emit<'_>, node: Node, step: &Step, nodes: &BTreeMap<Node, Block>, resumable: bool) {
    if resumable && !node.resumed && step.bundle.outside().next().is_some() {
        let resumed = nodes[&Node { resumed: true, ..node }];
        return topics::branch::end(emit, EXIT_OUTSIDE, nodes[&node], resumed);
    }
    emit.count();
    topics::branch::late_call(emit, node, step);
    let insts = step.bundle;
    let factors = topics::bus::Bus::new(insts.scalar);
    topics::address::unit(emit, &insts);
    topics::scalar::unit(emit, &insts, node.resumed);
    topics::vector::unit(emit, &insts, factors);
    topics::branch::unit(emit, node, step, nodes, resumable);
}
