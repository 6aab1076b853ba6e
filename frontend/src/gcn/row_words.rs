//! The words of an encoding row that are no operands of its text: registers that are read or written without being named, and
//! properties of the operation.
//!
//! `rows` explains each word. The decoder and the text use some, the lifter's analyses the others. A word that is
//! not listed here stops the table from being made, so a misspelt one cannot be overlooked.

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
    pub(super) fn parse(word: &str) -> Option<Registers> {
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
    pub(super) fn add(&mut self, word: &str) -> bool {
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
