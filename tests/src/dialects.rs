//! A small assembly language for tests: a kernel is written once and translated for Tesla, Fermi or GCN.
//!
//! Each instruction is on a line of its own or after `;`. Operands are registers `r1` to `r39` and numbers. At entry `r1`, `r2`,
//! `r3` hold the thread's x, y, z in its block, and `r4`, `r5`, `r6` the block's in the grid.
//!
//! | instruction | what it does |
//! |---|---|
//! | `mov d n`, `param d n` | `d = n`; `d =` kernel argument number `n` |
//! | `add d a b`, `sub`, `min`, `xor`, `mul` | 32-bit arithmetic; `min` is unsigned, `mul` multiplies 16-bit numbers |
//! | `addi d a n`, `andi`, `shl`, `shr` | the same with a constant |
//! | `mix d a` | `d = 5 * d + a` |
//! | `lds d a n`, `lds4 d a n`, `sts a n b` | one word, or four, of shared memory at `a + n` |
//! | `ldc d a n` | load from constant memory |
//! | `ldg d a`, `stg a b` | load and store of global memory |
//! | `atom d a b`, `exch d a b`, `cas d a b c` | atomic add, exchange, and store of `c` if the word equals `b`, in global memory; `d` gets the old value |
//! | `if a b`, `ifeq a b`, `endif` | for lanes where `a < b`, unsigned, or `a == b`; cannot be nested |
//! | `while n`, `leave n a b`, `leaveq n a b`, `repeat n` | loop number `n` (up to 3); a lane leaves it where `a < b` or `a == b`; not in an `if` inside it |
//! | `loop d`, `again d n` | repeats `n` times, `d` counts; one for each kernel |
//! | `bar`, `exit` | barrier; end of the thread |

pub mod loads;

use warpjit_frontend::{Isa, fermi, gcn, tesla};
use warpjit_runtime::{Program, ProgramOptions};

use crate::gcn::object::fiji_object;

/// Arguments a kernel has at most, words all of them.
pub const ARGS: usize = 12;
/// The argument that says where constants are, for instruction sets that have no bank of them.
pub const CONSTANTS_ARG: usize = 2;
/// The bank that they are in on others.
pub const CONSTANTS_BANK: u32 = 1;

/// A line, taken apart.
struct Line<'a> {
    op: &'a str,
    /// Numbers of registers, or numbers.
    args: Vec<u32>,
    /// Conditions up to here.
    joins: usize,
}

impl Line<'_> {
    fn arg(&self, n: usize) -> u32 {
        self.args[n]
    }
}

/// The instructions of a kernel.
fn lines(source: &str) -> impl Iterator<Item = Line<'_>> {
    let mut joins = 0;
    source.split(['\n', ';']).map(str::trim).filter(|text| !text.is_empty()).map(move |text| {
        let mut words = text.split_whitespace();
        let op = words.next().unwrap_or_default();
        joins += usize::from(op.starts_with("if"));
        let arg = |word: &str| match word.strip_prefix("0x") {
            Some(digits) => u32::from_str_radix(digits, 16),
            None => word.trim_start_matches('r').parse(),
        };
        let args = words.map(|word| arg(word).unwrap_or_else(|e| panic!("{text}: {e}")));
        Line { op, args: args.collect(), joins }
    })
}

/// Assembles a kernel with so many bytes of shared memory.
///
/// # Panics
///
/// Where it is wrong: it is part of a test.
pub fn program(source: &str, isa: Isa, shared_bytes: u32) -> Program {
    let (prologue, render): (String, fn(&Line<'_>) -> String) = match isa {
        Isa::Tesla => (tesla_prologue(), tesla_line),
        Isa::Fermi => (fermi_prologue(), fermi_line),
        _ => (gcn_prologue(), gcn_line),
    };
    let text = prologue + &lines(source).map(|line| render(&line)).collect::<String>();
    let wrong = |error: String| -> Vec<u8> { panic!("{error}\n{text}") };
    let options = |chip: &str| {
        ProgramOptions::new(isa)
            .raw(true)
            .chip(Some(chip.parse().unwrap()))
            .registers(Some(48))
            .shared(Some(shared_bytes))
    };
    let (code, options) = match isa {
        Isa::Tesla => {
            let done = tesla::assemble(&text, tesla::Target::compute(tesla::Chip::G84));
            (done.map_or_else(|e| wrong(e.to_string()), |done| done.code), options("g84"))
        }
        Isa::Fermi => {
            let done = fermi::assemble(&text, fermi::Chip::Gf100);
            (done.map_or_else(|e| wrong(e.to_string()), |done| done.code), options("gf100"))
        }
        _ => {
            let done = gcn::assemble(&text, gcn::Generation::Gfx8);
            let code = done.map_or_else(|e| wrong(e.to_string()), |done| done.code);
            (fiji_object(&code, shared_bytes, 4 * ARGS as u32), ProgramOptions::new(isa))
        }
    };
    Program::load(&code, &options).unwrap_or_else(|e| panic!("{e}\n{text}"))
}

fn tesla_prologue() -> String {
    "and b32 $r1 $r0 0xffff\nshr u32 $r2 $r0 0x10\nand b32 $r2 $r2 0x3ff\nshr u32 $r3 $r0 0x1a\n\
     cvt u32 $r4 u16 u16 s[0xc]\ncvt u32 $r5 u16 u16 s[0xe]\nmov b32 $r6 0x0\n"
        .into()
}

fn tesla_line(line: &Line<'_>) -> String {
    let (n, r) = (|n| line.arg(n), |n| format!("$r{}", line.arg(n)));
    match line.op {
        "mov" => format!("mov b32 {} {:#x}\n", r(0), n(1)),
        "param" => format!("mov b32 {} b32 s[{:#x}]\n", r(0), 0x10 + 4 * n(1)),
        "add" | "sub" | "xor" => format!("{} b32 {} {} {}\n", line.op, r(0), r(1), r(2)),
        "min" => format!("min u32 {} {} {}\n", r(0), r(1), r(2)),
        "mul" => format!("mul {} u16 {}l u16 {}l\n", r(0), r(1), r(2)),
        "addi" => format!("add b32 {} {} {:#x}\n", r(0), r(1), n(2)),
        "andi" => format!("and b32 {} {} {:#x}\n", r(0), r(1), n(2)),
        "shl" => format!("shl b32 {} {} {:#x}\n", r(0), r(1), n(2)),
        "shr" => format!("shr u32 {} {} {:#x}\n", r(0), r(1), n(2)),
        "mix" => format!("shl b32 $r40 {0} 0x2\nadd b32 {0} {0} $r40\nadd b32 {0} {0} {1}\n", r(0), r(1)),
        "lds" => format!("shl $a1 {} 0x0\nld {} b32 s[$a1+{:#x}]\n", r(1), r(0), n(2)),
        "lds4" => {
            let load = |word| format!("ld $r{} b32 s[$a1+{:#x}]\n", n(0) + word, n(2) + 4 * word);
            format!("shl $a1 {} 0x0\n", r(1)) + &(0..4).map(load).collect::<String>()
        }
        "sts" => format!("shl $a1 {} 0x0\nst b32 s[$a1+{:#x}] {}\n", r(0), n(1), r(2)),
        "ldc" => format!("shl $a2 {} 0x0\nld {} b32 c{CONSTANTS_BANK}[$a2+{:#x}]\n", r(1), r(0), n(2)),
        "ldg" => format!("ld b32 {} g14[{}]\n", r(0), r(1)),
        "stg" => format!("st b32 g14[{}] {}\n", r(0), r(1)),
        "atom" => format!("ld add u32 {} g14[{}] {}\n", r(0), r(1), r(2)),
        "exch" => format!("exch b32 {} g14[{}] {}\n", r(0), r(1), r(2)),
        "cas" => format!("cas b32 {} g14[{}] {} {}\n", r(0), r(1), r(2), r(3)),
        "if" | "ifeq" => {
            let less = if line.op == "if" { "l" } else { "e" };
            format!(
                "set $c0 # {less} u32 {} {}\njoinat #join{2}\n(e $c0) bra #join{2}\n",
                r(0),
                r(1),
                line.joins
            )
        }
        "while" => format!("breakaddr #out{0}\nturn{0}:\n", n(0)),
        "leave" => format!("set $c0 # l u32 {} {}\n(lg $c0) break\n", r(1), r(2)),
        "leaveq" => format!("set $c0 # e u32 {} {}\n(lg $c0) break\n", r(1), r(2)),
        "repeat" => format!("bra #turn{0}\nout{0}:\n", n(0)),
        "endif" => format!("join{}:\njoin nop\n", line.joins),
        "loop" => format!("mov b32 {} 0x0\nhead:\n", r(0)),
        "again" => format!(
            "add b32 {0} {0} 0x1\nmov b32 $r40 {1:#x}\nset $c0 # l u32 {0} $r40\n(lg $c0) bra #head\n",
            r(0),
            n(1)
        ),
        "bar" => "bar inc wait 0x0 0xfff\n".into(),
        "exit" => "exit nop\n".into(),
        op => panic!("there is no {op}"),
    }
}

fn fermi_prologue() -> String {
    let registers = ["tidx", "tidy", "tidz", "ctaidx", "ctaidy", "ctaidz"];
    (1..).zip(registers).map(|(n, name)| format!("mov b32 $r{n} ${name}\n")).collect()
}

fn fermi_line(line: &Line<'_>) -> String {
    let (n, r) = (|n| line.arg(n), |n| format!("$r{}", line.arg(n)));
    match line.op {
        "mov" => format!("mov b32 {} {:#x}\n", r(0), n(1)),
        "param" => format!("mov b32 {} c0[{:#x}]\n", r(0), 0x20 + 4 * n(1)),
        "add" | "sub" | "xor" => format!("{} b32 {} {} {}\n", line.op, r(0), r(1), r(2)),
        "min" => format!("min u32 {} {} {}\n", r(0), r(1), r(2)),
        "mul" => format!("mul {} u32 {} u32 {}\n", r(0), r(1), r(2)),
        "addi" => format!("add b32 {} {} {:#x}\n", r(0), r(1), n(2)),
        "andi" => format!("and b32 {} {} {:#x}\n", r(0), r(1), n(2)),
        "shl" => format!("shl b32 {} {} wrap {:#x}\n", r(0), r(1), n(2)),
        "shr" => format!("shr u32 {} {} wrap {:#x}\n", r(0), r(1), n(2)),
        "mix" => format!("add b32 {0} (shl {0} 0x2) {0}\nadd b32 {0} {0} {1}\n", r(0), r(1)),
        "lds" => format!("ld b32 {} s[{}+{:#x}]\n", r(0), r(1), n(2)),
        "lds4" => format!("ld b128 {}q s[{}+{:#x}]\n", r(0), r(1), n(2)),
        "sts" => format!("st b32 s[{}+{:#x}] {}\n", r(0), n(1), r(2)),
        "ldc" => format!("ld b32 {} c{CONSTANTS_BANK}[{}+{:#x}]\n", r(0), r(1), n(2)),
        // By addresses of 64 bits; stores by such of 32.
        "ldg" => format!("mov b32 $r40 {1}\nmov b32 $r41 0x0\nld b32 {0} ca g[$r40d]\n", r(0), r(1)),
        "stg" => format!("st b32 wb g[{}] {}\n", r(0), r(1)),
        "atom" => format!("ld add u32 {} g[{}] {}\n", r(0), r(1), r(2)),
        "exch" => format!("exch b32 {} g[{}] {}\n", r(0), r(1), r(2)),
        "cas" => format!("cas b32 {} g[{}] {} {}\n", r(0), r(1), r(2), r(3)),
        "if" | "ifeq" => format!(
            "set $p0 0x1 {3} u32 {0} {1}\njoinat #join{2}\n(not $p0) bra #skip{2}\n",
            r(0),
            r(1),
            line.joins,
            if line.op == "if" { "lt" } else { "eq" }
        ),
        "while" => format!("prebrk #out{0}\nturn{0}:\n", n(0)),
        "leave" => format!("set $p0 0x1 lt u32 {} {}\n$p0 brk\n", r(1), r(2)),
        "leaveq" => format!("set $p0 0x1 eq u32 {} {}\n$p0 brk\n", r(1), r(2)),
        "repeat" => format!("bra #turn{0}\nout{0}:\n", n(0)),
        "endif" => format!("skip{0}:\njoin nop\njoin{0}:\n", line.joins),
        "loop" => format!("mov b32 {} 0x0\nhead:\n", r(0)),
        "again" => {
            format!("add b32 {0} {0} 0x1\nset $p0 0x1 lt u32 {0} {1:#x}\n$p0 bra #head\n", r(0), n(1))
        }
        "bar" => "bar popc 0x1 0x0 0x0 0x0 0x1\n".into(),
        "exit" => "exit\n".into(),
        op => panic!("there is no {op}"),
    }
}

/// Arguments from s32 on, at s[8:11] the resource of all memory, at s[12:15] that of constants.
fn gcn_prologue() -> String {
    let loads = (0..ARGS).map(|n| format!("s_load_dword s{}, s[0:1], {:#x}\n", 32 + n, 4 * n));
    let resources = [(8, "0"), (12, &format!("s{}", 32 + CONSTANTS_ARG))].map(|(s, base)| {
        format!(
            "s_mov_b32 s{s}, {base}\ns_mov_b32 s{}, 0\ns_mov_b32 s{}, -1\ns_mov_b32 s{}, 0x24fac\n",
            s + 1,
            s + 2,
            s + 3
        )
    });
    loads.collect::<String>()
        + "s_waitcnt lgkmcnt(0)\ns_mov_b32 m0, -1\n"
        + &resources.concat()
        + "v_mov_b32 v3, v2\nv_mov_b32 v2, v1\nv_mov_b32 v1, v0\n\
           v_mov_b32 v4, s2\nv_mov_b32 v5, s3\nv_mov_b32 v6, s4\n"
}

fn gcn_line(line: &Line<'_>) -> String {
    let (n, r) = (|n| line.arg(n), |n| format!("v{}", line.arg(n)));
    match line.op {
        "mov" => format!("v_mov_b32 {}, {:#x}\n", r(0), n(1)),
        "param" => format!("v_mov_b32 {}, s{}\n", r(0), 32 + n(1)),
        "add" | "sub" => format!("v_{}_u32 {}, vcc, {}, {}\n", line.op, r(0), r(1), r(2)),
        "xor" => format!("v_xor_b32 {}, {}, {}\n", r(0), r(1), r(2)),
        "min" => format!("v_min_u32 {}, {}, {}\n", r(0), r(1), r(2)),
        "mul" => format!("v_mul_u32_u24 {}, {}, {}\n", r(0), r(1), r(2)),
        "addi" => format!("v_add_u32 {}, vcc, {:#x}, {}\n", r(0), n(2), r(1)),
        "andi" => format!("v_and_b32 {}, {:#x}, {}\n", r(0), n(2), r(1)),
        "shr" => format!("v_lshrrev_b32 {}, {}, {}\n", r(0), n(2), r(1)),
        "shl" => format!("v_lshlrev_b32 {}, {}, {}\n", r(0), n(2), r(1)),
        "mix" => format!(
            "v_lshlrev_b32 v40, 2, {0}\nv_add_u32 {0}, vcc, {0}, v40\nv_add_u32 {0}, vcc, {0}, {1}\n",
            r(0),
            r(1)
        ),
        "lds" => format!("ds_read_b32 {}, {} offset:{}\ns_waitcnt lgkmcnt(0)\n", r(0), r(1), n(2)),
        "lds4" => {
            let load = |from: u32| {
                let d = n(0) + from / 4;
                format!("ds_read_b64 v[{d}:{}], {} offset:{}\n", d + 1, r(1), n(2) + from)
            };
            load(0) + &load(8) + "s_waitcnt lgkmcnt(0)\n"
        }
        "sts" => format!("ds_write_b32 {}, {} offset:{}\n", r(0), r(2), n(1)),
        "ldc" => format!(
            "v_add_u32 v40, vcc, {:#x}, {}\nbuffer_load_dword {}, v40, s[12:15], 0 offen\ns_waitcnt vmcnt(0)\n",
            n(2),
            r(1),
            r(0)
        ),
        // By addresses of 64 bits; stores by offsets.
        "ldg" => format!(
            "v_mov_b32 v40, {1}\nv_mov_b32 v41, 0\nflat_load_dword {0}, v[40:41]\ns_waitcnt vmcnt(0) lgkmcnt(0)\n",
            r(0),
            r(1)
        ),
        "stg" => format!("buffer_store_dword {}, {}, s[8:11], 0 offen\n", r(1), r(0)),
        "atom" | "exch" => format!(
            "v_mov_b32 v40, {}\nbuffer_atomic_{} v40, {}, s[8:11], 0 offen glc\ns_waitcnt vmcnt(0)\nv_mov_b32 {}, v40\n",
            r(2),
            if line.op == "atom" { "add" } else { "swap" },
            r(1),
            r(0)
        ),
        "cas" => format!(
            "v_mov_b32 v40, {}\nv_mov_b32 v41, {}\nbuffer_atomic_cmpswap v[40:41], {}, s[8:11], 0 offen glc\n\
             s_waitcnt vmcnt(0)\nv_mov_b32 {}, v40\n",
            r(3),
            r(2),
            r(1),
            r(0)
        ),
        "if" | "ifeq" => format!(
            "v_cmp_{}_u32 vcc, {}, {}\ns_and_saveexec_b64 s[20:21], vcc\ns_cbranch_execz join{}\n",
            if line.op == "if" { "lt" } else { "eq" },
            r(0),
            r(1),
            line.joins
        ),
        "while" => format!("s_mov_b64 s[{}:{}], exec\nturn{}:\n", 24 + 2 * n(0), 25 + 2 * n(0), n(0)),
        "leave" | "leaveq" => format!(
            "v_cmp_{}_u32 vcc, {}, {}\ns_andn2_b64 exec, exec, vcc\ns_cbranch_execz out{}\n",
            if line.op == "leave" { "lt" } else { "eq" },
            r(1),
            r(2),
            n(0)
        ),
        "repeat" => {
            let (low, high) = (24 + 2 * n(0), 25 + 2 * n(0));
            format!("s_branch turn{0}\nout{0}:\ns_mov_b64 exec, s[{low}:{high}]\n", n(0))
        }
        "endif" => format!("join{}:\ns_or_b64 exec, exec, s[20:21]\n", line.joins),
        "loop" => format!("s_mov_b32 s22, 0\nhead:\nv_mov_b32 {}, s22\n", r(0)),
        "again" => {
            format!("s_add_u32 s22, s22, 1\ns_cmp_lt_u32 s22, {}\ns_cbranch_scc1 head\n", n(1))
        }
        "bar" => "s_waitcnt lgkmcnt(0)\ns_barrier\n".into(),
        "exit" => "s_endpgm\n".into(),
        op => panic!("there is no {op}"),
    }
}
