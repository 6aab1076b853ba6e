//! A program as a list of instructions that can be printed, run by the model, and shortened.

use std::fmt::Write;

/// VCC, M0 and EXEC in the numbering of scalar operands (docs/hardware/gcn.md section 3).
pub(super) const VCC: u8 = 106;
pub(super) const M0: u8 = 124;
pub(super) const EXEC: u8 = 126;

/// An operand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Arg {
    /// A scalar register by its number, VCC, M0 and EXEC among them; the first one of a pair.
    S(u8),
    /// A vector register.
    V(u8),
    /// An integer from -16 to 64.
    Int(i8),
    /// One of 0.5, -0.5, 1.0, -1.0, 2.0, -2.0, 4.0, -4.0.
    Float(u8),
    /// A literal dword.
    Literal(u32),
    /// Whether VCC is zero.
    Vccz,
    /// Whether EXEC is zero.
    Execz,
    /// SCC.
    Scc,
}

/// Spellings of [`Arg::Float`].
const FLOATS: [&str; 8] = ["0.5", "-0.5", "1.0", "-1.0", "2.0", "-2.0", "4.0", "-4.0"];

impl Arg {
    fn text(self, dwords: u8) -> String {
        match self {
            Arg::S(VCC) if dwords == 2 => "vcc".into(),
            Arg::S(EXEC) if dwords == 2 => "exec".into(),
            Arg::S(n) if dwords > 1 => format!("s[{n}:{}]", n + dwords - 1),
            Arg::S(106) => "vcc_lo".into(),
            Arg::S(107) => "vcc_hi".into(),
            Arg::S(M0) => "m0".into(),
            Arg::S(126) => "exec_lo".into(),
            Arg::S(127) => "exec_hi".into(),
            Arg::S(n) => format!("s{n}"),
            Arg::V(n) => format!("v{n}"),
            Arg::Int(value) => value.to_string(),
            Arg::Float(n) => FLOATS[usize::from(n)].into(),
            Arg::Literal(value) => format!("{value:#x}"),
            Arg::Vccz => "vccz".into(),
            Arg::Execz => "execz".into(),
            Arg::Scc => "scc".into(),
        }
    }
}

/// An instruction of the tables in `operations`.
#[derive(Clone, Debug)]
pub struct Ins {
    /// Its name as printed.
    pub name: String,
    /// Kinds of its operands, destinations before `=`: 1, 2, 4 for scalar registers of so many dwords, `v` for a vector register or any
    /// source of one, `V` for a vector register, `k` for a constant of 16 bits, `c` for VCC as such.
    pub kinds: &'static str,
    /// Its operands in the order of `kinds`, without constants.
    pub args: Vec<Arg>,
    /// The constant: of SOPK, the offset of scalar memory, operands of the index mode.
    pub constant: u32,
    /// What is printed behind the operands.
    pub suffix: String,
}

/// A line of a program, or several that belong together.
#[derive(Clone, Debug)]
pub enum Item {
    /// An instruction.
    Ins(Ins),
    /// A place to go to.
    Label(u32),
    /// `s_branch` or `s_cbranch_*`.
    Branch(&'static str, u32),
    /// Calls a function.
    Call {
        /// Its label.
        to: u32,
        /// By `s_call_b64`, else by `s_swappc_b64`.
        direct: bool,
    },
    /// `s_setpc_b64` to behind the call.
    Return,
    /// A fork.
    Fork {
        /// The pair with the lanes that go to the label.
        pair: u8,
        /// The label.
        to: u32,
        /// By `s_cbranch_g_fork`, else by `s_cbranch_i_fork`.
        computed: bool,
    },
    /// The join of forks.
    Join {
        /// The register with the number of forks before.
        saved: u8,
    },
    /// `s_getreg_b32`.
    GetReg {
        /// Where to.
        dst: u8,
        /// MODE (1) or STATUS (2).
        id: u8,
        /// The first bit.
        offset: u8,
        /// How many.
        bits: u8,
    },
    /// `s_setreg_b32` of some bits of MODE, with a literal `s_setreg_imm32_b32`.
    SetReg {
        /// The new bits.
        value: Arg,
        /// The first bit.
        offset: u8,
        /// How many.
        bits: u8,
    },
    /// `s_endpgm`.
    End,
}

/// Registers of return addresses and computed targets: results and inputs of nothing else.
pub(super) const TARGET: u8 = 52;
pub(super) const RETURN: u8 = 54;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Its lines.
    pub items: Vec<Item>,
}

impl Program {
    /// As assembly.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for (at, item) in self.items.iter().enumerate() {
            let _ = match item {
                Item::Ins(ins) => writeln!(text, "  {}", ins.text()),
                Item::Label(label) => writeln!(text, "L{label}:"),
                Item::Branch(name, to) => writeln!(text, "  {name} L{to}"),
                Item::Call { to, direct: true } => {
                    writeln!(text, "  s_call_b64 s[{RETURN}:{}], L{to}", RETURN + 1)
                }
                Item::Call { to, direct: false } => {
                    address(&mut text, at, *to);
                    writeln!(text, "  s_swappc_b64 s[{RETURN}:{}], s[{TARGET}:{}]", RETURN + 1, TARGET + 1)
                }
                Item::Return => writeln!(text, "  s_setpc_b64 s[{RETURN}:{}]", RETURN + 1),
                Item::Fork { pair, to, computed: false } => {
                    writeln!(text, "  s_cbranch_i_fork {}, L{to}", Arg::S(*pair).text(2))
                }
                Item::Fork { pair, to, computed: true } => {
                    address(&mut text, at, *to);
                    let pair = Arg::S(*pair).text(2);
                    writeln!(text, "  s_cbranch_g_fork {pair}, s[{TARGET}:{}]", TARGET + 1)
                }
                Item::Join { saved } => writeln!(text, "  s_cbranch_join s{saved}"),
                Item::GetReg { dst, id, offset, bits } => {
                    writeln!(text, "  s_getreg_b32 {}, hwreg({id}, {offset}, {bits})", Arg::S(*dst).text(1))
                }
                Item::SetReg { value, offset, bits } => {
                    let name = match value {
                        Arg::Literal(_) => "s_setreg_imm32_b32",
                        _ => "s_setreg_b32",
                    };
                    writeln!(text, "  {name} hwreg(1, {offset}, {bits}), {}", value.text(1))
                }
                Item::End => writeln!(text, "  s_endpgm"),
            };
        }
        text
    }
}

/// The address of a label goes to the registers for it; SCC is the carry.
fn address(text: &mut String, at: usize, to: u32) {
    let _ = write!(
        text,
        "  s_getpc_b64 s[{TARGET}:{high}]\nA{at}:\n  s_add_u32 s{TARGET}, s{TARGET}, L{to}-A{at}\n  s_addc_u32 s{high}, s{high}, 0\n",
        high = TARGET + 1,
    );
}

impl Ins {
    /// As assembly.
    pub fn text(&self) -> String {
        let mut args = self.args.iter();
        let words: Vec<String> = self
            .kinds
            .chars()
            .filter(|kind| *kind != '=')
            .map(|kind| match kind {
                'k' => format!("{:#x}", self.constant),
                'c' => "vcc".into(),
                _ => {
                    let dwords = kind.to_digit(10).unwrap_or(1) as u8;
                    args.next().expect("an operand of each kind").text(dwords)
                }
            })
            .collect();
        format!("{} {}{}", self.name, words.join(", "), self.suffix)
    }
}
