//! Checks that the table of operations in `docs/ir.md` is made from `Opcode::ALL`. `BLESS=1` rewrites it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::fs;
use std::path::Path;

use warpjit_ir::opcodes::Sig;
use warpjit_ir::{Group, Opcode, Scalar};

const START: &str = "<!-- operations: made by ir/tests/reference.rs from Opcode::ALL -->\n";
const END: &str = "<!-- end of operations -->";

fn names(scalars: &[Scalar]) -> String {
    scalars.iter().map(|s| s.name()).collect::<Vec<_>>().join(" ")
}

fn typing(sig: Sig) -> String {
    match sig {
        Sig::Const => "any type".into(),
        Sig::Same(n, list) => {
            let operands = vec!["T"; usize::from(n)].join(", ");
            format!("({operands}) → T; {}", names(list))
        }
        Sig::Fixed(params, result) => {
            let params = params.iter().map(|s| s.name()).collect::<Vec<_>>().join(", ");
            format!("({params}) → {}", result.name())
        }
        Sig::Compare(list) => format!("(T, T) → i1; {}", names(list)),
        Sig::Select => "(i1, T, T) → T".into(),
        Sig::Convert(pairs) => {
            let pairs: Vec<String> =
                pairs.iter().map(|(from, to)| format!("{} → {}", from.name(), to.name())).collect();
            pairs.join(", ")
        }
        Sig::Special => "see the verifier".into(),
    }
}

fn table() -> String {
    let mut groups: BTreeMap<Group, Vec<Opcode>> = BTreeMap::new();
    for &op in Opcode::ALL {
        groups.entry(op.group()).or_default().push(op);
    }
    let mut out = String::new();
    for (group, ops) in groups {
        let _ = write!(out, "\n### {}\n\n| operation | types | meaning |\n|---|---|---|\n", group.name());
        for op in ops {
            // Links of rustdoc mean nothing here; cells are single lines.
            let mut doc = op.doc().split_whitespace().collect::<Vec<_>>().join(" ").replace('|', "\\|");
            for other in Opcode::ALL {
                doc = doc.replace(&format!("[`Opcode::{other:?}`]"), &format!("`{}`", other.name()));
            }
            let _ = writeln!(out, "| `{}` | {} | {doc} |", op.name(), typing(op.sig()));
        }
    }
    out.push('\n');
    out
}

#[test]
fn table_of_operations_is_up_to_date() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/ir.md");
    let text = fs::read_to_string(&path).expect("docs/ir.md");
    let start = text.find(START).expect("start of the table") + START.len();
    let end = text.find(END).expect("end of the table");
    let wanted = table();
    if text[start..end] == wanted {
        return;
    }
    if std::env::var_os("BLESS").is_some() {
        fs::write(&path, format!("{}{wanted}{}", &text[..start], &text[end..])).expect("docs/ir.md");
        return;
    }
    panic!(
        "docs/ir.md lists other operations; BLESS=1 cargo test -p warpjit-ir --test reference rewrites it"
    );
}
