//! The SSA IR of warpjit: values, masks, control flow, passes, interpreter.
