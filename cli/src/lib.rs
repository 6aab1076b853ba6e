//! Runs GPU machine code on the CPU.
