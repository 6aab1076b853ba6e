//! The macro that makes the operations of an instruction set.

/// Makes `Op` and `Topic` of a list: the documentation of `Op`, then each topic, with the file of the lifter that has its code, and its
/// operations.
macro_rules! ops {
    ($(#[$of:meta])* Op; $($(#[$about:meta])* $topic:ident { $($(#[$doc:meta])* $name:ident,)* })*) => {
        /// What operations are about. The file that it names has their code.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Topic {
            $($(#[$about])* $topic,)*
        }

        $(#[$of])*
        #[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
        pub enum Op {
            $($($(#[$doc])* $name,)*)*
        }

        impl Op {
            /// Every operation.
            pub const ALL: &'static [Op] = &[$($(Op::$name,)*)*];

            /// What it is about, and so which file of the lifter has its code.
            pub fn topic(self) -> Topic {
                match self {
                    $($(Op::$name => Topic::$topic,)*)*
                }
            }
        }
    };
}

pub(crate) use ops;
