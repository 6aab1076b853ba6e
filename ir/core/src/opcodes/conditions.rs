//! What an operation's immediate names: conditions of comparisons, and what an atomic does.

#[cfg(doc)]
use super::Opcode;

macro_rules! conditions {
    ($(#[$edoc:meta])* $enum:ident { $($(#[$doc:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$edoc])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum $enum { $($(#[$doc])* $variant,)* }

        impl $enum {
            /// Every variant.
            pub const ALL: &'static [$enum] = &[$($enum::$variant,)*];

            /// Name in the text format.
            pub fn name(self) -> &'static str {
                match self { $($enum::$variant => $name,)* }
            }

            /// The variant called `name`.
            pub fn parse(name: &str) -> Option<$enum> {
                $enum::ALL.iter().copied().find(|c| c.name() == name)
            }
        }
    };
}

conditions! {
    /// Conditions of [`Opcode::Icmp`].
    IntCC {
        /// Equal.
        Eq = "eq",
        /// Not equal.
        Ne = "ne",
        /// Signed less.
        Slt = "slt",
        /// Signed less or equal.
        Sle = "sle",
        /// Signed greater.
        Sgt = "sgt",
        /// Signed greater or equal.
        Sge = "sge",
        /// Unsigned less.
        Ult = "ult",
        /// Unsigned less or equal.
        Ule = "ule",
        /// Unsigned greater.
        Ugt = "ugt",
        /// Unsigned greater or equal.
        Uge = "uge",
    }
}

conditions! {
    /// Conditions of [`Opcode::Fcmp`]. Ordered ones are false on NaN, those with `u` are true on NaN.
    FloatCC {
        /// Equal and ordered.
        Eq = "eq",
        /// Less and ordered.
        Lt = "lt",
        /// Less or equal and ordered.
        Le = "le",
        /// Greater and ordered.
        Gt = "gt",
        /// Greater or equal and ordered.
        Ge = "ge",
        /// Not equal and ordered.
        One = "one",
        /// Ordered.
        Ord = "ord",
        /// Unordered.
        Uno = "uno",
        /// Equal or unordered.
        Ueq = "ueq",
        /// Less or unordered.
        Ult = "ult",
        /// Less, equal or unordered.
        Ule = "ule",
        /// Greater or unordered.
        Ugt = "ugt",
        /// Greater, equal or unordered.
        Uge = "uge",
        /// Not equal or unordered.
        Ne = "ne",
    }
}

conditions! {
    /// Operations of [`Opcode::Atomic`]. Signedness of min and max is in the name.
    AtomicOp {
        /// Sum.
        Add = "add",
        /// Exchange.
        Exch = "exch",
        /// Compare and swap.
        Cas = "cas",
        /// `old + 1 > limit ? 0 : old + 1`, unsigned, the sum wrapping first (docs/hardware/tesla.md section 4).
        Inc = "inc",
        /// `old - 1 > limit ? limit : old - 1`, unsigned, the difference wrapping first.
        Dec = "dec",
        /// As `inc` with the signed quirk of chips before G200: t = old + 1; t > 0 or value > t (signed) gives value, else t,
        /// where value < 0; else as `inc`.
        IncS = "inc_s",
        /// As `dec` with the signed quirk of chips before G200: t = old - 1; t > 0 or value > t (signed) gives 0, else t,
        /// where value < 0; else as `dec`.
        DecS = "dec_s",
        /// Unsigned maximum.
        Umax = "umax",
        /// Unsigned minimum.
        Umin = "umin",
        /// Signed maximum.
        Smax = "smax",
        /// Signed minimum.
        Smin = "smin",
        /// Bitwise and.
        And = "and",
        /// Bitwise or.
        Or = "or",
        /// Bitwise exclusive or.
        Xor = "xor",
        /// Float sum (binary32 or binary64 by size), nearest even, denormals kept; a NaN is 0x7fc00000 or 0x7ff8000000000000.
        Fadd = "fadd",
        /// Sum of binary32, nearest even, in which denormals count as zeros and come out as such; a NaN is 0x7fffffff.
        FaddFtz = "fadd_ftz",
        /// Lesser of two floats; of a number and a NaN the number; -0 is less than +0.
        Fmin = "fmin",
        /// Greater of two floats; of a number and a NaN the number; -0 is less than +0.
        Fmax = "fmax",
        /// The operand less the old value.
        Rsub = "rsub",
        /// As `cas`, but what is compared are floats (binary32 or binary64 by size): -0 and +0 are equal, a NaN is equal to nothing.
        Fcas = "fcas",
        /// Clears the bits of the operand and sets those of the second one: `old & !value | new`.
        Mskor = "mskor",
        /// `old >= value ? old - value : old + new`, unsigned.
        Wrap = "wrap",
        /// Stores the operand without its highest bit where that bit is set.
        CondExch = "condexch",
        /// Leaves memory as it is and gives the old value.
        Nop = "nop",
    }
}

impl AtomicOp {
    /// Whether it has a second operand: `new` of `cas`.
    pub fn takes_two(self) -> bool {
        matches!(self, AtomicOp::Cas | AtomicOp::Fcas | AtomicOp::Mskor | AtomicOp::Wrap)
    }

    /// Whether any number of these on one word, with any operands, leave the same there in any order.
    pub fn is_commutative(self) -> bool {
        use AtomicOp::*;
        matches!(self, Add | Umax | Umin | Smax | Smin | And | Or | Xor | Nop)
    }
}

impl IntCC {
    /// The condition that holds of (b, a) where this one holds of (a, b).
    pub fn swapped(self) -> IntCC {
        use IntCC::*;
        match self {
            Eq | Ne => self,
            Slt => Sgt,
            Sle => Sge,
            Sgt => Slt,
            Sge => Sle,
            Ult => Ugt,
            Ule => Uge,
            Ugt => Ult,
            Uge => Ule,
        }
    }

    /// The condition that holds where this one does not.
    pub fn inverse(self) -> IntCC {
        use IntCC::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Slt => Sge,
            Sle => Sgt,
            Sgt => Sle,
            Sge => Slt,
            Ult => Uge,
            Ule => Ugt,
            Ugt => Ule,
            Uge => Ult,
        }
    }
}

impl FloatCC {
    /// The condition that holds of (b, a) where this one holds of (a, b).
    pub fn swapped(self) -> FloatCC {
        use FloatCC::*;
        match self {
            Lt => Gt,
            Le => Ge,
            Gt => Lt,
            Ge => Le,
            Ult => Ugt,
            Ule => Uge,
            Ugt => Ult,
            Uge => Ule,
            Eq | One | Ord | Uno | Ueq | Ne => self,
        }
    }

    /// The condition that holds where this one does not.
    pub fn inverse(self) -> FloatCC {
        use FloatCC::*;
        match self {
            Eq => Ne,
            Ne => Eq,
            Lt => Uge,
            Le => Ugt,
            Gt => Ule,
            Ge => Ult,
            One => Ueq,
            Ueq => One,
            Ord => Uno,
            Uno => Ord,
            Ult => Ge,
            Ule => Gt,
            Ugt => Le,
            Uge => Lt,
        }
    }
}
