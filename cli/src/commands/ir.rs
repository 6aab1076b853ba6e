//! `warpjit ir`: the stages of compilation, each with guest addresses beside it.

use std::collections::BTreeSet;
use std::fmt::Write;

use warpjit::outcome::Status;
use warpjit_ir::regions::explore::ExitKind;
use warpjit_ir::regions::liveness::SlotSet;
use warpjit_ir::regions::{Kernel, Region, RegionOptions};
use warpjit_ir::{Block, Function};

use super::code::Code;
use super::print;
use crate::args::{Form, IrArgs};

pub(super) fn ir(args: &IrArgs) -> anyhow::Result<Status> {
    let code = Code::load(&args.program)?;
    let mut text = String::new();
    for program in code.programs()? {
        let function = &program.image().function;
        match args.form {
            Form::Spmd => text += &function.to_string(),
            Form::Regions => show_regions(&mut text, function, |region| region.ssa.to_string()),
            Form::Mask => show_regions(&mut text, function, |region| region.mask.to_string()),
            Form::Clif | Form::Host => anyhow::bail!("ir: not in this build yet"),
        }
    }
    print(&text)?;
    Ok(Status::Ok)
}

/// Every region that a run can come to, with what `show` says of it; blocks that run in the
/// interpreter are named.
fn show_regions(text: &mut String, function: &Function, show: impl Fn(&Region) -> String) {
    let kernel = Kernel::new(function.clone(), RegionOptions::default());
    let nothing_known = SlotSet::empty(kernel.func.slots.len());
    let mut todo = vec![kernel.func.entry];
    let mut seen = BTreeSet::new();
    while let Some(entry) = todo.pop() {
        if !seen.insert(entry) {
            continue;
        }
        let pc = |block: Block| kernel.func.block(block).pc;
        let after = |block: Block, todo: &mut Vec<Block>| {
            kernel.func.term(block).for_each_successor(|next| todo.push(next));
        };
        let Some(region) = kernel.region(entry, &nothing_known) else {
            let _ = writeln!(text, "; {entry} at {:#x} runs in the interpreter\n", pc(entry));
            after(entry, &mut todo);
            continue;
        };
        let blocks: Vec<_> = region.blocks.iter().map(|&b| format!("{b} ({:#x})", pc(b))).collect();
        let _ = writeln!(text, "; region from {entry} at {:#x}: {}", pc(entry), blocks.join(", "));
        for (number, exit) in region.exits.iter().enumerate() {
            let what = match *exit {
                ExitKind::Ended => "all threads have ended".to_owned(),
                ExitKind::Terminator(block) => {
                    after(block, &mut todo);
                    format!("the terminator of {block} ({:#x}) comes next", kernel.func.block(block).term_pc)
                }
                ExitKind::Enter(block) => {
                    todo.push(block);
                    format!("{block} ({:#x}) comes next", pc(block))
                }
            };
            let _ = writeln!(text, "; exit {number}: {what}");
        }
        let _ = writeln!(text, "{}", show(&region));
    }
}
