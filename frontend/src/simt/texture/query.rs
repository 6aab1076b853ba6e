//! What `texquery` tells of headers and samplers beside sizes. Of the type only the number of samples is known
//! (docs/hardware/textures-nv.md section 6); the rest is chosen: fields of the entries as they are, levels of detail as floats.

use warpjit_ir::device::TextureEntry;
use warpjit_texture::{Sampler, Texel};

use super::descriptor;
use super::request::Query;
use super::samples;

/// The results of a query; `sample` is the number of a sample. A sampler that is not there is one of zeros.
pub(super) fn results(
    query: Query,
    header: &TextureEntry,
    entry: Option<&TextureEntry>,
    sampler: &Sampler,
    sample: u32,
) -> Texel {
    let field = |word: u32, at: u32, bits: u32| word >> at & ((1 << bits) - 1);
    let [w0, w1] = entry.map_or([0; 2], |entry| [entry[0], entry[1]]);
    let levels = |lod: i32| (lod as f32 / 256.0).to_bits();
    match query {
        Query::Type => [descriptor::shape(header), field(header[0], 6, 3), samples::mode(header).count(), 0],
        Query::SamplePosition => {
            let [x, y] = samples::mode(header).position(sample);
            [x.to_bits(), y.to_bits(), 0, 0]
        }
        Query::Filter => [field(w1, 0, 2), field(w1, 4, 2), field(w1, 6, 2), sampler.max_anisotropy.into()],
        Query::Level if entry.is_none() => [0; 4],
        Query::Level => [levels(sampler.min_lod), levels(sampler.max_lod), levels(sampler.bias), 0],
        Query::Wrap => [field(w0, 0, 3), field(w0, 3, 3), field(w0, 6, 3), 0],
        Query::Border => sampler.border,
    }
}
