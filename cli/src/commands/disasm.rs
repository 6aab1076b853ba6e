//! `warpjit disasm`: lists the code of a file.

use warpjit::outcome::Status;
use warpjit_frontend::container::Selection;

use super::code::Code;
use super::print::print;
use crate::args::DisasmArgs;

pub(super) fn disasm(args: &DisasmArgs) -> anyhow::Result<Status> {
    let code = Code::load(args, Selection::Listing)?;
    let kernels = code.kernels()?;
    let mut text = String::new();
    for (index, kernel) in kernels.iter().enumerate() {
        // A heading where there is a choice; the assembler takes it for a comment.
        if kernels.len() > 1 {
            let blank = if index > 0 { "\n" } else { "" };
            text += &format!("{blank}// {}\n", kernel.name);
        }
        let target = code.chip.target();
        text += &match &args.syntax {
            None => target.listing(&kernel.code, code.address(kernel), code.stage),
            Some(syntax) => target.listing_in(syntax, &kernel.code, code.address(kernel), code.stage)?,
        };
    }
    print(&text)?;
    Ok(Status::Ok)
}
