//! The instruction table as written: one row an operation and encoding, with its opcode on 1.0, 1.1, 1.2 and 1.4 and
//! its operands. [`super::table`] compiles it; decoder, encoder, printer, assembler and the generated documentation
//! all walk the result.
//!
//! The text is `destinations = sources options`, in the order of LLVM's syntax:
//!
//! | word | operand |
//! |---|---|
//! | `b32 u32 i32 f32 b64 u64 i64 f64 b16 u16 i16 f16 pk16 pkf16` | register or constant of that type |
//! | `w1`...`w16` | so many dwords |
//! | `h1`...`h4` | so many 16-bit values: a dword each on 1.2, two a dword on 1.4 |
//! | `s:T`, `v:T` | scalar, vector register only |
//! | `dT` | a source in the field of the destination |
//! | `vcc` | lane mask: VCC in short forms, a scalar pair in the long one |
//! | `tied` | the destination, not in the text; `implicit`: VCC, not in the text |
//! | `kT` | the constant of madmk and madak; `imm32`: of setreg |
//! | `k`, `n`, `opt` | simm16 in hex, in decimal, only if not zero; `imm7`: the destination field as a number |
//! | `rel hwreg wait msg idx gpridx` | simm16 as branch target, hardware register, wait counts, message; index modes |
//! | `attr param` | interpolation |
//! | `mix` | f32, or a half of a register, as `op_sel_hi` says |
//! | `base2 base4` | scalar address pair, resource, with offset |
//! | `addr`, `addrN` | vector address: as the format has it, least number of dwords |
//! | `img` | as many dwords as `dmask` and d16 say; `samp`: a sampler |
//! | `rtnN` | destination of N dwords if the old value is returned |
//! | `gws` | data0 only; `gds`: must be GDS, `nogds`: must not; `two`: two 8-bit offsets; `swizzle`: offset is a pattern |
//!
//! Registers that are used without being named stand beside the operands, before `=` if they are written and after it if they are
//! read: `scc`, `exec`, `m0`, `vccz` (VCC as a mask), `stack` (the registers of the control stack). That EXEC guards what vector
//! instructions write is not said.
//!
//! Properties are single words ([`Property`]). These change forms and text: `clamp`, `noclamp`, `omod`, `noomod`
//! where the long form differs from the rule (clamp where a float is read or written, omod where one is written), `opsel`, `mods`,
//! `class`, `nodpp`, `nolong`, `nolds`, `nod16`. These say what the lifter's analyses have to know: `old`, `lanes`, `mask`, `m0src`,
//! `m0dst`, and of each row of memory operations one of `load`, `store`, `atomic`, `other`.
//!
//! `@a/b/c/d`: names that differ from the operation's. `[mad_mix]` and the like: only chips with these features have it
//! ([`super::Features`]); two rows may share an opcode then. A word that is not listed below stops the table from being made, so a misspelt
//! one cannot be overlooked.

mod compare;
mod image;
mod lds;
mod memory;
mod scalar;
mod scalar_memory;
mod vector;

use super::Op;

pub(super) use compare::VOPC;
pub(super) use image::MIMG;
pub(super) use lds::DS;
pub(super) use memory::{FLAT, MTBUF, MUBUF};
pub(super) use scalar::{SOP1, SOP2, SOPC, SOPK, SOPP};
pub(super) use scalar_memory::SMEM;
pub(super) use vector::{VINTRP, VOP1, VOP2, VOP3, VOP3P};

/// The generation does not have it.
pub(super) const __: i16 = -1;

/// Operation, opcodes on 1.0, 1.1, 1.2, 1.4, text.
pub(super) type Line = (Op, [i16; 4], &'static str);

/// Registers that an instruction uses without naming them.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Registers(u8);

impl Registers {
    /// None.
    pub const NONE: Registers = Registers(0);
    /// The scalar condition bit.
    pub const SCC: Registers = Registers(1);
    /// The mask of active lanes, as a value: that it guards what vector instructions write is not said.
    pub const EXEC: Registers = Registers(2);
    /// VCC, as a lane mask.
    pub const VCC: Registers = Registers(4);
    /// M0.
    pub const M0: Registers = Registers(8);
    /// The registers of the control stack, `s0` to `s31`. A row that writes them may write some.
    pub const STACK: Registers = Registers(16);

    /// The words of a row.
    const WORDS: [(&'static str, Registers); 5] = [
        ("scc", Registers::SCC),
        ("exec", Registers::EXEC),
        ("vccz", Registers::VCC),
        ("m0", Registers::M0),
        ("stack", Registers::STACK),
    ];

    /// The register of a word.
    pub(in crate::gcn) fn parse(word: &str) -> Option<Registers> {
        Registers::WORDS.iter().find(|(name, _)| *name == word).map(|&(_, register)| register)
    }

    /// Both sets.
    #[must_use]
    pub fn and(self, other: Registers) -> Registers {
        Registers(self.0 | other.0)
    }

    /// Whether all of `other` are among these.
    pub fn contains(self, other: Registers) -> bool {
        self.0 & other.0 == other.0
    }
}

macro_rules! properties {
    ($($(#[$doc:meta])* $name:ident $word:literal;)*) => {
        /// A property of an encoding row.
        #[derive(Clone, Copy, PartialEq, Eq, Debug)]
        #[repr(u8)]
        pub enum Property {
            $($(#[$doc])* $name,)*
        }

        impl Property {
            /// All properties.
            pub const ALL: &'static [Property] = &[$(Property::$name,)*];

            /// The word of a row that says so.
            pub fn word(self) -> &'static str {
                match self {
                    $(Property::$name => $word,)*
                }
            }
        }
    };
}

properties! {
    /// The long form has `clamp` although no float is read or written.
    Clamp "clamp";
    /// The long form has no `clamp`.
    NoClamp "noclamp";
    /// The long form has `omod` although no float is written.
    Omod "omod";
    /// The long form has no `omod`.
    NoOmod "noomod";
    /// `op_sel` chooses halves of registers (1.4).
    OpSel "opsel";
    /// There are no SDWA and DPP forms, although the operands would fit.
    NoDpp "nodpp";
    /// There is no long form of a short one.
    NoLong "nolong";
    /// Sources have `neg` and `abs` although they are no floats.
    Mods "mods";
    /// Only the first source has `neg` and `abs`.
    Class "class";
    /// The access cannot go to LDS.
    NoLds "nolds";
    /// There is no 16-bit data.
    NoD16 "nod16";
    /// Two 8-bit offsets in place of one.
    Two "two";
    /// The offset is a pattern of lanes.
    Swizzle "swizzle";
    /// The access must be to GDS.
    Gds "gds";
    /// The access cannot be to GDS.
    NoGds "nogds";

    /// The destination is read, too.
    Old "old";
    /// A 64-bit operation that works lane by lane where one of its operands is a lane mask.
    Lanes "lanes";
    /// The first source is a lane mask, although it is named as a number.
    Mask "mask";
    /// The first source is the register so many behind the named one as M0 says.
    IndexedSource "m0src";
    /// The destination is the register so many behind the named one as M0 says.
    IndexedDestination "m0dst";

    /// Memory is read, and nothing else is done.
    Load "load";
    /// Memory is written, and nothing else is done.
    Store "store";
    /// Memory is read and written at once.
    Atomic "atomic";
    /// Of a memory format, but no access to memory like these three.
    Other "other";
    /// The address is one of scratch.
    Scratch "scratch";
}

/// The properties of a row.
#[derive(Clone, Copy, PartialEq, Eq, Default, Debug)]
pub struct Properties(u32);

impl Properties {
    /// Adds what a word says. False if there is no such word.
    pub(in crate::gcn) fn add(&mut self, word: &str) -> bool {
        let found = Property::ALL.iter().find(|property| property.word() == word);
        if let Some(&property) = found {
            self.0 |= 1 << property as u32;
        }
        found.is_some()
    }

    /// Whether it is there.
    pub fn has(self, property: Property) -> bool {
        self.0 >> property as u32 & 1 != 0
    }
}
