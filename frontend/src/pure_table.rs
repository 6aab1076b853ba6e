//! Macros that declare an instruction set's pure functions as a table: one line each with name, types and body.

/// Declares each function once: its static, its IR name, its types and its body.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $text:literal ($($ty:ident),*) -> $ret:ident,
        |$args:ident| $body:expr $(, inline $formula:path)? $(, fast $fast:path)? $(, expand $expand:path)? $(, special $special:expr)?;)*) => {
        $(
            $(#[$doc])*
            pub static $name: warpjit_ir::PureFn = warpjit_ir::PureFn {
                name: $text,
                params: &[$(warpjit_ir::Scalar::$ty),*],
                result: warpjit_ir::Scalar::$ret,
                eval: |$args| $body,
                expand: $crate::pure_table::expansion!($($formula, $ret)? $(; $expand)?),
                fast: $crate::pure_table::expansion!($($fast, $ret)?),
                special: $crate::pure_table::known!($($special)?),
            };
        )*

        /// Every function, for those who look them up by name.
        pub static ALL: &[&warpjit_ir::PureFn] = &[$(&$name),*];
    };
}

/// The expansion of a function of one word that has a formula.
macro_rules! expansion {
    () => {
        None
    };
    (; $expand:path) => {
        Some($expand)
    };
    ($formula:path, $ret:ident) => {
        Some(|b, args, ftz| {
            $crate::formula::unary(b, args, ftz, warpjit_ir::Scalar::$ret, |o, x| $formula(o, x))
        })
    };
}

/// The special function that a code generator may recognise, as an option: `None` for an empty argument.
macro_rules! known {
    () => {
        None
    };
    ($special:expr) => {
        Some($special)
    };
}

pub(crate) use {expansion, functions, known};

/// Argument `n`; one that is missing counts as 0, so that no call can fail.
pub(crate) fn a(args: &[u64], n: usize) -> u64 {
    args.get(n).copied().unwrap_or(0)
}

/// The low word of argument `n`.
pub(crate) fn w(args: &[u64], n: usize) -> u32 {
    a(args, n) as u32
}
