//! Containers, decoders, disassemblers, assemblers and lifters of guest ISAs.
