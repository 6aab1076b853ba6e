//! Tables of pure functions: a line each with its name, types and body.

/// A function of many words at once: one of a word applied to each, or one of slices.
macro_rules! words {
    () => {
        None
    };
    (each $each:path) => {
        Some(|from, to| from.iter().zip(to).for_each(|(&x, y)| *y = $each(x)))
    };
    (words $words:path) => {
        Some($words)
    };
    (inline $formula:path) => {
        None
    };
}

/// Declares each function once: its static, its IR name, its types and its body.
macro_rules! functions {
    ($($(#[$doc:meta])* $name:ident = $text:literal ($($ty:ident),*) -> $ret:ident,
        |$args:ident| $body:expr $(, $how:ident $many:path)?;)*) => {
        $(
            $(#[$doc])*
            pub static $name: warpjit_ir::PureFn = warpjit_ir::PureFn {
                name: $text,
                params: &[$(warpjit_ir::Scalar::$ty),*],
                result: warpjit_ir::Scalar::$ret,
                eval: |$args| $body,
                words: $crate::pure_table::words!($($how $many)?),
                expand: $crate::pure_table::expansion!($($how $many, $ret)?),
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
    (inline $formula:path, $ret:ident) => {
        Some(|b, args, ftz| {
            $crate::formula::unary(b, args, ftz, warpjit_ir::Scalar::$ret, |o, x| $formula(o, x))
        })
    };
    ($how:ident $many:path, $ret:ident) => {
        None
    };
}

pub(crate) use {expansion, functions, words};

/// Argument `n`; one that is missing counts as 0, so that no call can fail.
pub(crate) fn a(args: &[u64], n: usize) -> u64 {
    args.get(n).copied().unwrap_or(0)
}

/// The low word of argument `n`.
pub(crate) fn w(args: &[u64], n: usize) -> u32 {
    a(args, n) as u32
}
