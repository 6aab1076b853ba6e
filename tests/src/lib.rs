//! End-to-end tests of warpjit.
