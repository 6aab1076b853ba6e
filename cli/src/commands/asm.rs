//! `warpjit asm`: assembles a source file.

use anyhow::{Context, anyhow};
use warpjit::outcome::Status;

use super::code::{choose, read, stage};
use crate::args::AsmArgs;

pub(super) fn asm(args: &AsmArgs) -> anyhow::Result<Status> {
    let shown = args.file.display();
    let source = String::from_utf8(read(&args.file)?)
        .map_err(|e| anyhow!("{shown}: is not UTF-8 text (byte {:#x})", e.utf8_error().valid_up_to()))?;
    let (isa, chip) = choose(args.isa.as_deref(), args.chip.as_deref())?;
    let chip = chip.unwrap_or(isa.front_end().default_chip());
    let stage = stage(&args.r#type)?;
    let code = chip.target().assemble(&source, stage).map_err(|errors| {
        let lines: Vec<_> = errors.0.iter().map(|e| format!("{shown}:{e}")).collect();
        anyhow!("{}", lines.join("\n"))
    })?;
    std::fs::write(&args.output, code).with_context(|| args.output.display().to_string())?;
    Ok(Status::Ok)
}
