//! AMD's HSA runtime library, `libhsa-runtime64.so.1`, on warpjit: HIP programs and others that use HSA find a device that is the CPU.
//!
//! Nothing is between the program and the library: what AMD's library does with the kernel's driver and a card, this one does with the
//! runtime's engine, in memory whose addresses are the same for program and device. docs/exec.md describes the whole.
//!
//! | module | is |
//! |---|---|
//! | [`status`] | what functions return |
//! | [`chip`], `info` | the devices, and answers about them and the system |
//! | [`system`] | what a process has of the library |
//! | [`memory`](mod@memory) | pools, allocations, memory of the program that is locked |
//! | [`signal`](mod@signal), `events` | signals, and functions that are called when they change |
//! | `queue`, `dispatch`, `scratch` | queues and their threads; from packets to launches |
//! | `elf`, `executable`, [`kernel`] | code objects, where they are loaded, their kernels |
//! | `copies` | copies that wait for signals |
//! | `image` | descriptors of images and samplers, copies of them |
//! | `report`, `record` | lines on standard error, statistics; recorded dispatches |
//! | [`trial`] | code objects and packets of all kinds, for the fuzz targets |
//! | `exports` | the functions that programs call |
//!
//! `unsafe` code is in `exports`, which gets pointers from C, in `host`, which follows those of copies, and in `cells`, words that several
//! threads and the device share.
#![warn(missing_docs)]
#![deny(unsafe_code)]

#[allow(unsafe_code)]
mod cells;
pub mod chip;
mod clock;
mod copies;
mod dispatch;
mod elf;
mod events;
mod executable;
#[allow(unsafe_code, missing_docs, clippy::missing_safety_doc)]
pub mod exports;
#[allow(unsafe_code)]
mod host;
mod image;
mod info;
pub mod kernel;
pub mod memory;
mod queue;
mod record;
mod report;
mod scratch;
pub mod signal;
pub mod status;
pub mod system;
pub mod trial;
