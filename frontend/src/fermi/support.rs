//! Generates the table of supported Fermi instructions in docs/.

use super::table::rows;
use super::{Family, Form};
use crate::envydis::support_section;
use crate::prose::wrapped;

/// What runs.
const RUNS: &str = "\
## What runs

All that programs of any stage use, but for these, which raise the fault `illegal` in a lane that gets to them. What they give cannot be
known from any source:

- `suq`: envytools has names for what it asks (rank, format, size of a sample, size, components, blocks), and nothing else. How many
  registers a size takes, in which unit, and by which numbers formats and components are told is not said. No known program has it: Mesa's
  driver reads the sizes of surfaces from constants that it writes.
- `texcsaa`: only the encoding and the name (coverage sampling) are known. It would read how the coverage samples of a texture belong to
  its colour samples; the bits of those texture formats are not known either. Mesa's compiler can encode it and never uses it.
- `bar read`: no document says what it gives.
- `rtt` is for trap handlers, which no launch has.

What is of graphics (`interp`, attributes, `pixinfo`, `out`, `discard`) runs in programs of graphics stages only.

Where the documents do not say, this is chosen:

- Reads beyond shared, local and constant memory give 0, writes there do nothing. Accesses that are not aligned to their size fault but
  in constant memory.
- `bar` with a register: the value of the warp's lowest active lane counts. `bar and` and `bar or` give 1 or 0 in a register.
- Locks of words of global memory (`ld lock g[]`) hold for the grid, those of shared memory for the block. A store that unlocks
  always succeeds.
- Atomic operations take generic addresses: shared and local memory behind their windows.
- `.X` of shifts, of `min`/`max` (`low`, `med`) and of bitwise operations: see `frontend/src/fermi/lift/topics/int.rs`.
- Special registers that a launch does not define (performance counters, trap state, `launcharg`, `gridid`) are 0, and so is the upper word
  of the clock. All warps are on multiprocessor 0.
- Graphics: handles of vertices are their numbers, `al2p` adds, `interp sc` is `mul`, pixels have one sample, `$ydir` is 1.0, discarded lanes
  go on as helpers. Lanes that have exited keep their registers: derivatives and levels of detail count them. Vertices of streams that the
  interface does not have are none; those of all streams have rows in the order in which they are emitted.
- Textures: `texquery` of types gives the header's shape, the first component's type and the number of samples; queries of samplers
  give fields of the entry (filters, wrap modes and the border as they are, the ratio of anisotropy, levels of detail as floats), that of
  a sample's position Direct3D's standard places from the pixel's centre on. `lbiasa` and `lloda` are `lbias` and `llod`.
- Samples of a texture (`texfetch ms`) are texels of an image twice or four times as wide and as high, as Mesa's drivers lay them out.
- Surfaces: the third coordinate counts 256 bytes; loads of GK104 do not convert. No document says what bits `suclamp`, `subfm`,
  `sueau` and `mad b32 sd` give: together they give the addresses that Mesa's programs need with its descriptors
  (`frontend/src/fermi/lift/topics/surface_address.rs`).
";

/// A markdown table of every row: `docs/support-fermi.md`.
pub fn support_table() -> String {
    let mut out = String::from(
        "# Fermi instructions\n\n\
         Generated from the instruction table (`frontend/src/fermi/rows.rs`); do not edit. `BLESS=1 cargo test -p \
         warpjit-frontend --test fermi_table` writes it anew.\n\n\
         Every row decodes, prints and assembles on the chips named. Upper-case words are operand fields, `<words>` \
         choices made by bits. All rows of classes 0 to 6 take a guard predicate and `join`. Where the \
         code of each is: docs/add-an-instruction.md, \"How to find an instruction's code\".\n\n",
    );
    out.push_str(RUNS);
    let forms: [(&str, Form); 9] = [
        ("Class 0: f32", Form::Long(0)),
        ("Class 1: f64", Form::Long(1)),
        ("Class 2: 32-bit immediate", Form::Long(2)),
        ("Class 3: integer", Form::Long(3)),
        ("Class 4: move, convert, miscellaneous, video", Form::Long(4)),
        ("Class 5: memory", Form::Long(5)),
        ("Class 6: const, attribute, texture", Form::Long(6)),
        ("Class 7: control", Form::Control),
        ("Short (one word)", Form::Short),
    ];
    for (title, form) in forms {
        let found: Vec<_> = rows().iter().filter(|row| row.form == form).collect();
        support_section(&mut out, title, &found, &["chips"], |row| {
            let chips = match row.family() {
                None => "all",
                Some(Family::Gf100) => "gf100 to gf119",
                Some(Family::Gk104) => "gk104 to gk107",
            };
            vec![chips.into()]
        });
    }
    wrapped(&out)
}
