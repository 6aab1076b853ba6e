//! The commands, one file each.

mod asm;
mod bench;
mod code;
mod disasm;
mod exec;
mod first_run;
mod interrupt;
mod ir;
mod launched;
mod new;
mod print;
mod profile;
mod progress;
mod run;
mod statistics;
mod suite;

use warpjit::outcome::Status;

use crate::args::{Cli, Command};

/// Runs the command.
pub fn run(cli: &Cli) -> anyhow::Result<Status> {
    match &cli.command {
        Command::Run(args) => run::run(args),
        Command::Bench(args) => bench::bench(args),
        Command::Profile(args) => profile::profile(args),
        Command::Asm(args) => asm::asm(args),
        Command::New(args) => new::new(args),
        Command::Disasm(args) => disasm::disasm(args),
        Command::Ir(args) => ir::ir(args),
        Command::Exec(args) => exec::exec(args),
    }
}
