//! Generated samplers: code in mask form that serves a texture request of many lanes at once (docs/textures.md).
//!
//! The library `warpjit-texture` serves any request, a lane at a time. Where all lanes of a call name the same texture and sampler, code
//! does the same for many lanes at once, with the same bits. It is made for a *state* ([`StateKey`]): format, kind of layout, wrap modes,
//! filters, comparison, and where the lanes' arguments are. Addresses, sizes and levels of detail are *data* ([`Data`]), so that few
//! functions serve many textures.
//!
//! - `request`: what an instruction asks for, and where arguments are in the mailbox;
//! - `key`, `data`: what code depends on, and what it reads;
//! - `code`: a function as a whole; `lod`, `axis`, `texel`, `block`, `modes`, `filter`: its parts, as the modules of
//!   `warpjit_texture::sample`.
//!
//! What code is not made for ([`StateKey::of`] gives `None`): pairs of texels, cubes by direction and seamless ones, minima and maxima,
//! coordinates in texels that wrap, images of 2 GiB and more, views of more than 16 levels.

mod ahead;
mod axis;
mod block;
mod code;
mod data;
mod emit;
mod filter;
mod key;
mod lod;
mod modes;
mod request;
#[cfg(test)]
mod tests;
mod texel;

pub use code::generate;
pub use data::Data;
pub use key::StateKey;
pub use request::{Action, Input, Level, Request, Results};

use warpjit_texture::View;
use warpjit_texture::sample::Sampler;

/// A request that code is made for, with its view and sampler: what [`warpjit_ir::DeviceAccess::serve`] takes.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Generated {
    key: StateKey,
    data: Data,
}

impl Generated {
    /// Of a request; `None`: code is not made for it.
    pub fn of(view: &View, sampler: &Sampler, request: Request) -> Option<Generated> {
        let key = StateKey::of(view, sampler, request)?;
        let data = data::data(&key, view, sampler)?;
        Some(Generated { key, data })
    }

    /// What its code depends on.
    pub fn key(&self) -> &StateKey {
        &self.key
    }

    /// What its code reads.
    pub fn data(&self) -> &Data {
        &self.data
    }
}
