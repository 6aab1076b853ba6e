//! Generates the table of supported VP1 instructions in docs/.

use std::fmt::Write as _;

use super::Unit;
use super::table::rows;
use crate::prose::wrapped;

/// A markdown table of every row: `docs/support-vp1.md`.
pub fn support_table() -> String {
    let mut out = String::from(
        "# VP1 instructions\n\n\
         Generated from the instruction table (`frontend/src/vp1/rows.rs`); do not edit. `BLESS=1 cargo test -p \
         warpjit-frontend --test vp1_table` writes it anew.\n\n\
         Every row decodes, prints, assembles and runs, on NV41, NV44 and G80 unless it says otherwise. Upper-case \
         words are operand fields, `<words>` choices made by bits. Where two rows fit a word the first one is meant, \
         and together they fit every word. Instructions called `unkXX` have no name in public documents; what is \
         known of them is what they do here. `Dma`, `AUnknown` and moves to and from `$sr`, `$mi`, `$d`, `$f`, most \
         `$uc` and unknown register files reach outside of the processor: the library calls back for them \
         (`runtime::vp1`), without callbacks they do what the library documents as default. \
         Where the code of each is: docs/add-an-instruction.md, \"How to find an instruction's code\".\n",
    );
    for unit in Unit::ALL {
        let found: Vec<_> = rows().iter().filter(|row| row.unit() == unit).collect();
        // Writing to a string cannot fail.
        let _ = write!(
            out,
            "\n## {unit:?} unit: {} rows\n\n| instruction | operation | value | mask |\n|---|---|---|---|\n",
            found.len()
        );
        for row in found {
            let chip = if row.g80_only() { " (G80)" } else { "" };
            let _ = writeln!(
                out,
                "| `{}`{chip} | {:?} | `{:08x}` | `{:08x}` |",
                row.text, row.op, row.value, row.mask
            );
        }
    }
    wrapped(&out)
}
