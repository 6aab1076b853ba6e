//! Tests `warpjit ir --launched`, which prints the code compiled for a launch.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use common::{IOTA, LAUNCH, folder, warpjit};

/// Stores the number of each thread by way of shared memory and a barrier.
const BARRIER: &str = "and b32 $r1 $r0 0xffff\nshl $a1 $r1 0x2\nst b32 s[$a1+0x40] $r1\nbar inc wait 0x0 0xfff\n\
                       mov b32 $r2 b32 s[$a1+0x40]\nshl b32 $r3 $r1 0x2\nadd b32 $r3 b32 s[0x10] $r3\nst b32 g14[$r3] $r2\nexit nop\n";
/// Several blocks of several warps: the first runs by itself before code for rows is made.
const BLOCKS: &str = "[launch]\ngrid = [4, 1, 1]\nblock = [64, 1, 1]\ndynamic_shared = 512\n\
                      [[buffer]]\nname = 'out'\nbytes = 256\n[[arg]]\nbuffer = 'out'\n";

/// A function of the listing.
struct Function<'a> {
    /// `warpjit::kernel@0x0#0`.
    name: &'a str,
    /// What stands behind it.
    kind: &'a str,
    lines: Vec<&'a str>,
}

impl Function<'_> {
    /// What is said under a heading, as `assumed`.
    fn said(&self, heading: &str) -> Vec<&str> {
        let lines = self.lines.iter().filter_map(|line| line.strip_prefix("; ")?.strip_prefix(heading));
        lines.filter_map(|line| line.strip_prefix(": ")).collect()
    }

    /// Guest addresses at which blocks of code start that it is made of.
    fn blocks(&self) -> BTreeSet<u32> {
        let outlines =
            self.lines.iter().filter_map(|line| line.split_once("region from ")).map(|(_, rest)| rest);
        let lists =
            outlines.filter_map(|rest| rest.split_once(": ")?.1.split_once(';')).map(|(list, _)| list);
        lists.flat_map(|list| list.split(", ")).map(|block| hex(block.split_once('(').unwrap().1)).collect()
    }

    /// Guest addresses beside code, and those that are said to have none, with their instruction.
    fn addresses(&self) -> (BTreeSet<u32>, BTreeMap<u32, String>) {
        let (mut beside, mut without, mut of_block) = (BTreeSet::new(), BTreeMap::new(), None);
        for line in &self.lines {
            let word = line.split_whitespace().next().unwrap_or_default();
            if let Some(text) = line.strip_prefix(";   0x") {
                let (pc, text) = text.split_once("  ").unwrap();
                without.insert(u32::from_str_radix(pc, 16).unwrap(), text.to_owned());
            } else if let Some(pc) = word.strip_prefix('@') {
                beside.insert(hex(pc));
            } else if line.starts_with("block") && line.contains(" 0x") {
                let pc = line.rsplit_once(" 0x").unwrap().1;
                of_block = Some(hex(&format!("0x{pc}")));
            } else if line.starts_with("     ") {
                beside.extend(of_block);
            }
            if !line.starts_with("block") {
                of_block = None;
            }
        }
        (beside, without)
    }
}

/// The number at the start of a text.
fn hex(text: &str) -> u32 {
    let digits = text.strip_prefix("0x").unwrap_or_else(|| panic!("{text}"));
    let end = digits.find(|c: char| !c.is_ascii_hexdigit()).unwrap_or(digits.len());
    u32::from_str_radix(&digits[..end], 16).unwrap_or_else(|e| panic!("{text}: {e}"))
}

fn functions(text: &str) -> Vec<Function<'_>> {
    let mut list: Vec<Function<'_>> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("; ").filter(|rest| rest.starts_with("warpjit::")) {
            Some(heading) => {
                let (name, kind) = heading.split_once(": ").filter(|(name, _)| !name.contains(' ')).unwrap();
                list.push(Function { name, kind, lines: Vec::new() });
            }
            None => list.last_mut().into_iter().for_each(|function| function.lines.push(line)),
        }
    }
    list
}

fn launched(folder: &Path, form: &str, more: &[&str]) -> String {
    let args = [&["ir", "launch.toml", "--launched", "--form", form], more].concat();
    let (status, out, err) = warpjit(folder, &args);
    assert_eq!((status, err.as_str()), (0, ""), "{args:?}");
    out
}

/// Forms, and chunks that the host's own code has not.
const WAYS: [(&str, &[&str]); 5] = [
    ("regions", &[]),
    ("mask", &[]),
    ("host", &[]),
    ("regions", &["--chunk", "2"]),
    ("host", &["--chunk", "2"]),
];

#[test]
fn a_kernel_without_barriers_is_one_phase_of_a_grid_row() {
    let folder = folder("launched_rows", IOTA, BLOCKS);
    for (form, more) in WAYS {
        let text = launched(&folder, form, more);
        assert!(text.starts_with("; launch.toml: 4 blocks run, 1 functions compiled\n"), "{text}");
        let [function] = &functions(&text)[..] else { panic!("{text}") };
        let kind = "grid rows, 1 phase, all lanes of every warp are active, ";
        assert_eq!(function.name, "warpjit::kernel@0x0#rows0");
        assert!(function.kind.starts_with(kind) && function.kind.ends_with(" bytes"), "{}", function.kind);
        assert_eq!(function.said("exit 0"), ["all threads have ended"]);
        // The store.
        assert!(function.addresses().0.contains(&0x18), "{text}");
    }
    // Blocks that are not whole warps get other code.
    std::fs::write(
        folder.join("launch.toml"),
        std::fs::read_to_string(folder.join("launch.toml")).unwrap().replace("[64, 1, 1]", "[40, 1, 1]"),
    )
    .unwrap();
    let text = launched(&folder, "host", &[]);
    assert!(!text.contains("all lanes of every warp take part") && text.contains("#"), "{text}");
}

#[test]
fn a_kernel_with_a_barrier_is_two_phases() {
    let folder = folder("launched_phases", BARRIER, BLOCKS);
    for (form, more) in WAYS {
        let text = launched(&folder, form, more);
        let all = functions(&text);
        let names: Vec<_> = all.iter().map(|function| function.name).collect();
        // The block that runs first brings regions of its own; what comes behind the barrier knows its registers.
        let single: Vec<_> = names.iter().filter(|name| !name.contains("rows")).collect();
        assert_eq!(single, [&"warpjit::kernel@0x0#0", &"warpjit::kernel@0x20#0"], "{text}");
        let later = all.iter().find(|function| function.name == "warpjit::kernel@0x20#0").unwrap();
        let assumed = later.said("assumed");
        let [assumed] = assumed[..] else { panic!("{text}") };
        assert!(
            assumed.split("; ").any(|known| known.starts_with("r1 ") && known.contains(" 1 over ")),
            "{assumed}"
        );
        assert_eq!(later.kind.split(',').next(), Some("a region"));
        let phases = all.iter().find(|function| function.name == "warpjit::kernel@0x0#rows0").unwrap();
        assert!(phases.kind.starts_with("grid rows, 2 phases, "), "{}", phases.kind);
        let [first] = phases.said("phase 0")[..] else { panic!("{text}") };
        let [second] = phases.said("phase 1")[..] else { panic!("{text}") };
        assert!(first.contains(" at 0x0: ") && second.contains(" at 0x20: "), "{text}");
        assert!(phases.said("exit 1")[0].ends_with("comes next: phase 1"), "{text}");
        assert!(phases.said("known").iter().any(|known| known.contains("r1 packed 1 over ")), "{text}");
        // The stores before and behind the barrier.
        let (beside, _) = phases.addresses();
        assert!(beside.contains(&0x10) && beside.contains(&0x38), "{text}");
    }
    // Without a launch a later region is shown as it is where nothing is known.
    let (_, plain, _) = warpjit(&folder, &["ir", "launch.toml", "--form", "regions"]);
    assert!(plain.contains("; region from ") && !plain.contains("assumed"), "{plain}");
}

#[test]
fn cranelift_lists_its_own_ir() {
    let folder = folder("launched_clif", BARRIER, BLOCKS);
    let text = launched(&folder, "clif", &[]);
    let all = functions(&text);
    assert_eq!(all.len(), 3, "{text}");
    for (number, function) in all.iter().enumerate() {
        let kind = if number == 2 { "grid rows" } else { "a region" };
        assert_eq!(function.kind.split(',').next(), Some(kind));
        assert!(function.lines.iter().any(|line| line.trim_start().starts_with("brif")), "{text}");
        assert!(function.lines.iter().any(|line| line.ends_with("chunks of 8 lanes")), "{text}");
    }
    assert!(launched(&folder, "clif", &["--chunk", "1"]).contains("; chunks of 4 lanes\n"));
    assert!(launched(&folder, "clif", &["--chunk", "0"]).contains("; chunks of 1 lanes\n"));
}

#[test]
fn launches_that_end_badly_are_shown_too() {
    let folder = folder("launched_badly", "trap\nexit nop\n", LAUNCH);
    assert!(launched(&folder, "host", &[]).contains("; ended by a trap fault at pc 0x0"));
    // A loop without end is stopped.
    let forever = common::folder(
        "launched_forever",
        "mov b32 $r1 0x1\nl:\nadd b32 $r1 $r1 0x1\nbra #l\nexit nop\n",
        LAUNCH,
    );
    let text = launched(&forever, "mask", &["--seconds", "0.2"]);
    assert!(text.contains("; stopped after 0.2 s") && functions(&text).len() == 1, "{text}");
    let refused = |args: &[&str], message: &str| {
        let (status, _, err) = warpjit(&folder, args);
        assert!(status == 2 && err.contains(message), "{args:?}: {status} {err}");
    };
    refused(&["ir", "code.bin", "--launched", "--form", "host"], "code.bin is no launch file");
    refused(&["ir", "launch.toml", "--launched"], "there are regions, mask, clif and host");
    refused(&["ir", "launch.toml", "--launched", "--chip", "g80"], "cannot be used with");
    refused(&["ir", "launch.toml", "--form", "host", "--blocks", "0..1"], "--launched");
    refused(
        &["ir", "launch.toml", "--launched", "--form", "clif", "--chunk", "8"],
        "chunks of 0, 1, 2 and 4",
    );
    refused(
        &["ir", "launch.toml", "--launched", "--form", "host", "--blocks", "3..4"],
        "the grid has blocks 0..1",
    );
}

/// What may have no code of its own: what only moves values about, loads of what is loaded once for all chunks, and control flow. Other
/// accesses and what computes floats has some.
fn may_vanish(text: &str) -> bool {
    let words = ["mov", "cvt", "and", "shl", "set", "bra", "bar", "join", "joinat", "ret", "exit", "nop"];
    text.split_whitespace()
        .find(|word| !word.starts_with(['(', '$']))
        .is_some_and(|op| words.contains(&op) || op == "ld" && text.contains(" s[0x"))
}

/// Runs the command on a kernel of the benchmarks, and holds each function against the kernel's own listing.
fn covers_its_instructions(kernel: &str, form: &str, more: &[&str]) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/kernels").join(kernel);
    let (_, listing, _) = warpjit(&folder, &["disasm", "launch.toml"]);
    let guest: BTreeSet<u32> =
        listing.lines().filter_map(|line| u32::from_str_radix(line.split_once(": ")?.0, 16).ok()).collect();
    let text = launched(&folder, form, more);
    let all = functions(&text);
    assert!(all.iter().any(|function| function.name.starts_with("warpjit::kernel@")), "{kernel} {form}");
    assert!(all.iter().any(|function| function.kind.contains("phases")), "{kernel} {form} {more:?}");
    // Blocks go from where they start to where the next one does.
    let mut starts: BTreeSet<u32> = all.iter().flat_map(Function::blocks).collect();
    let (_, spmd, _) = warpjit(&folder, &["ir", "launch.toml", "--form", "spmd"]);
    let headings = spmd.lines().filter(|line| line.starts_with("block") && line.ends_with(':'));
    starts.extend(headings.filter_map(|line| Some(hex(line.split_once(" at ")?.1))));
    let mut whole = BTreeSet::new();
    for function in &all {
        let own = function.blocks();
        let of_block = |pc: &&u32| starts.range(..=**pc).next_back().is_some_and(|start| own.contains(start));
        let covered: BTreeSet<u32> = guest.iter().filter(of_block).copied().collect();
        assert!(!covered.is_empty(), "{kernel} {form} {}", function.name);
        let (beside, without) = function.addresses();
        for pc in &covered {
            let there = beside.contains(pc) || without.contains_key(pc);
            assert!(there, "{kernel} {form} {more:?} {}: {pc:#x} is missing", function.name);
        }
        for (pc, text) in without {
            assert!(covered.contains(&pc), "{kernel} {form} {}: {pc:#x} {text}", function.name);
            assert!(may_vanish(&text), "{kernel} {form} {}: {pc:#x} {text}", function.name);
        }
        whole.extend(covered);
    }
    assert_eq!(whole, guest, "{kernel} {form}");
}

#[test]
fn every_guest_instruction_of_the_benchmarks_is_in_what_was_compiled_of_it() {
    for kernel in ["reduction", "sgemm", "fermi/reduction", "fermi/sgemm"] {
        for form in ["regions", "mask", "host"] {
            covers_its_instructions(kernel, form, &[]);
        }
        covers_its_instructions(kernel, "host", &["--chunk", "2"]);
    }
}
