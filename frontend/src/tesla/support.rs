//! Generates the table of supported Tesla instructions in docs/.

use super::table::rows;
use super::{Chip, Form, STAGES, Stage};
use crate::envydis::support_section;
use crate::prose::wrapped;

/// What runs.
const RUNS: &str = "\
## What runs

All that programs of any stage use, but for `texcsaa`, which raises the fault `illegal` in a lane that gets to it: only its encoding and
its name (coverage sampling) are known, the bits of the textures that it reads are not, and no known compiler uses it. Where the documents do not say, this is chosen:

- Geometry: a pointer into p[] is 4 times the number of its vertex, and words of a vertex are 0x20 bytes apart, as `$sr3` says.
- Fragments: discarded lanes go on as helpers. Lanes that have ended keep their registers: derivatives and levels of detail
  count them. Pixels have one sample, so `cent` changes nothing.
- `texprep cube` gives the point on a face from 0 to 1, and 6 times the layer plus the face.
";

/// A markdown table of every row: `docs/support-tesla.md`.
pub fn support_table() -> String {
    let mut out = String::from(
        "# Tesla instructions\n\n\
         Generated from the instruction table (`frontend/src/tesla/rows.rs`); do not edit. `BLESS=1 cargo test -p \
         warpjit-frontend --test tesla_table` writes it anew.\n\n\
         Every row decodes, prints and assembles on the chips and in the program types named. Upper-case words are \
         operand fields, `<words>` choices made by bits. All long rows take a predicate and `exit` or `join`. Where the \
         code of each is: docs/add-an-instruction.md, \"How to find an instruction's code\".\n\n",
    );
    out.push_str(RUNS);
    let forms: [(&str, &[Form]); 4] = [
        ("Short (one word)", &[Form::Short, Form::ShortControl]),
        ("Immediate (two words)", &[Form::Imm]),
        ("Long (two words)", &[Form::Long]),
        ("Control (two words)", &[Form::Control]),
    ];
    for (title, forms) in forms {
        let found: Vec<_> = rows().iter().filter(|row| forms.contains(&row.form)).collect();
        support_section(&mut out, title, &found, &["chips", "programs"], |row| {
            vec![chips(&row.chips()), stages(&row.stages())]
        });
    }
    wrapped(&out)
}

/// The chips in words.
fn chips(chips: &[Chip]) -> String {
    if chips.len() == Chip::ALL.len() {
        return "all".into();
    }
    if chips.len() > 1 && Chip::ALL.ends_with(chips) {
        return format!("{} and later", chips[0]);
    }
    chips.iter().map(|chip| chip.name()).collect::<Vec<_>>().join(" ")
}

/// The stages in words.
fn stages(stages: &[Stage]) -> String {
    if stages.len() == STAGES.len() {
        return "all".into();
    }
    stages.iter().map(|stage| stage.name()).collect::<Vec<_>>().join(" ")
}
