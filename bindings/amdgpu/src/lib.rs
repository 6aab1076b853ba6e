//! A preload library: programs that load it find an AMD card, which is `warpjit-card`'s.
//!
//! Mesa's drivers find cards by files below `/dev/dri` and `/sys/dev/char`, open the render node, and speak to the kernel by ioctls. The
//! functions of the C library by which they do so are here a second time (`hooks`), in front of the C library's own:
//!
//! - paths of the pretended files lead to a folder of plain files (`tree`);
//! - opening the node gives a descriptor of the file that holds the card's memory, so that `mmap`, `dup`, `close` and `poll` need no hook;
//! - ioctls of such a descriptor are answered by [`warpjit_card::File::ioctl`] (`node`).
//!
//! All else goes to the C library's functions (`real`) as it came. `warpjit exec` starts programs with this library (docs/exec.md).
#![warn(missing_docs)]

mod hooks;
mod node;
mod real;
mod tree;
