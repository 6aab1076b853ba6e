//! What is known of a program before its code is emitted.
//!
//! [`graph`] finds the instructions that it can reach, their blocks, and where computed jumps go. [`effects`] says what an instruction reads and
//! writes. With it, [`statics`] finds values that are known, [`truth`] masks that are the same in all lanes, [`views`] which scalar pairs
//! hold masks and what is read later, and [`ordered`] what may come after a store.

pub(super) mod effects;
pub(super) mod graph;
pub(super) mod hwreg;
pub(super) mod logic;
pub(super) mod ordered;
pub(super) mod stage;
pub(super) mod statics;
pub(super) mod truth;
pub(super) mod view;
pub(super) mod views;
