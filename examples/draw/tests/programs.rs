//! The machine code in `programs` is what the sources beside it assemble to.

use std::fs;
use std::path::Path;

use warpjit_frontend::{Chip, Stage};

#[test]
fn sources_assemble_to_the_programs() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("programs");
    for (family, chip) in [("tesla", "g80"), ("fermi", "gf100"), ("gcn", "fiji")] {
        let chip: Chip = chip.parse().unwrap();
        let programs = [("vertex", Stage::Vertex), ("pixel", Stage::Fragment), ("cutout", Stage::Fragment)];
        for (program, stage) in programs {
            let path = folder.join(family).join(program);
            let source = fs::read_to_string(path.with_extension("s")).unwrap();
            let code = chip.target().assemble(&source, stage).unwrap();
            assert!(
                code == fs::read(path.with_extension("bin")).unwrap(),
                "{family} {program}: assemble it again"
            );
        }
    }
}
