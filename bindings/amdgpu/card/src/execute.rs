//! Runs dispatches, and says what comes of them.

use crate::Card;
use crate::dispatch::{Dispatch, hash};
use crate::fault;
use crate::memory::AddressSpace;
use crate::record;
use warpjit_runtime::{Fault, Memory, Program};

/// Runs a dispatch to its end. What goes wrong is said on standard error.
pub(crate) fn run(card: &Card, space: &AddressSpace, dispatch: &Dispatch) -> Result<(), ()> {
    let memory = if dispatch.has_scratch() { space.scratch_memory() } else { space.memory() };
    let program = match card.programs.get(memory, dispatch.code, &dispatch.options(card)) {
        Ok(program) => program,
        Err(error) => {
            card.reporter.say(&format!("the kernel at {:#x} cannot be run: {error}", dispatch.code));
            return Err(());
        }
    };
    let record = card.settings.record_folder(|| format!("{:016x}", hash(memory, &program)));
    let recording = record.and_then(|folder| record::before(card, space, dispatch, &program, folder));
    let launch = dispatch.launch(card).cancel(Some(space.ended().clone()));
    let result = card.engine().and_then(|engine| engine.run(&program, memory, &launch));
    if let Some(recording) = recording {
        record::after(card, space, recording);
    }
    let report = match result {
        Ok(report) => report,
        Err(error) => {
            let kernel = hash(memory, &program);
            card.reporter
                .say(&format!("kernel {kernel:016x} at {:#x} cannot be run: {error}", dispatch.code));
            return Err(());
        }
    };
    if card.reporter.wants_kernels() {
        card.reporter.dispatch(hash(memory, &program), dispatch, &report);
    }
    if let Some(reason) = &report.stats.not_compiled {
        card.reporter.once(&format!("some code is interpreted: {reason}"));
    }
    match &report.fault {
        None if report.cancelled => Err(()),
        None => Ok(()),
        Some(fault) => {
            card.reporter.say(&describe(card, memory, &program, fault));
            Err(())
        }
    }
}

/// A fault in one line.
pub(crate) fn describe(card: &Card, memory: &Memory, program: &Program, fault: &Fault) -> String {
    fault::describe(card.chip().name, memory, &format!("{:016x}", hash(memory, program)), fault)
}
