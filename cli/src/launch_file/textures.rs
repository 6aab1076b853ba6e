//! Reads `[[texture]]`, `[[sampler]]`, `[[image]]`, `[textures]`, `[[bind]]` and `[images]`.

use warpjit_frontend::Isa;

use super::context::Context;
use super::error::Result;
use super::memory::Buffers;
use super::reader::{Table, Value};

/// An entry of a table of headers, samplers or surfaces.
pub type Entry = [u32; 8];

/// What a launch file says about textures.
#[derive(Clone, Debug, Default)]
pub struct Textures {
    /// `[[texture]]`, `[[sampler]]`, `[[image]]`: entries by slot.
    pub headers: Vec<(u32, Entry)>,
    /// Samplers.
    pub samplers: Vec<(u32, Entry)>,
    /// Surfaces.
    pub surfaces: Vec<(u32, Entry)>,
    /// Buffers of the tables that `[textures]` names.
    pub header_table: Option<usize>,
    /// Of samplers.
    pub sampler_table: Option<usize>,
    /// The const bank of texture handles.
    pub handles: Option<u8>,
    /// `[[bind]]`: entries of texture slots.
    pub texture_bindings: Vec<(u32, u32)>,
    /// Of sampler slots.
    pub sampler_bindings: Vec<(u32, u32)>,
    /// `[images]`.
    pub tile_modes: Option<Box<[u32; 32]>>,
    /// Of macro tiles.
    pub macrotile_modes: Option<Box<[u32; 16]>>,
    /// GB_ADDR_CONFIG.
    pub address_config: Option<u32>,
    /// The buffer of border colours.
    pub border_colors: Option<usize>,
}

/// The tables of the file that say something about textures.
pub(super) struct TextureTables<'a> {
    pub textures: Vec<Table<'a>>,
    pub samplers: Vec<Table<'a>>,
    pub surfaces: Vec<Table<'a>>,
    pub binds: Vec<Table<'a>>,
    pub tables: Option<Table<'a>>,
    pub images: Option<Table<'a>>,
}

/// Most slots of textures and samplers.
const SLOTS: u32 = 256;
/// Surfaces of a program.
const SURFACES: u32 = 8;
/// Most entries of a table in guest memory: a handle has 20 bits for one.
const ENTRIES: u32 = 1 << 20;

impl TextureTables<'_> {
    pub fn read(&self, context: &Context<'_>, buffers: &Buffers) -> Result<Textures> {
        let isa = context.isa;
        let is_nv = matches!(isa, Isa::Tesla | Isa::Fermi);
        let all = [&self.textures, &self.samplers, &self.surfaces, &self.binds];
        let first = all.into_iter().flatten().chain(&self.tables).next();
        if let Some(first) = first.filter(|_| !is_nv) {
            return Err(first.error(format!("{isa} has no such tables")));
        }
        if let Some(images) = self.images.as_ref().filter(|_| isa != Isa::Gcn) {
            return Err(images.error(format!("{isa} has no such registers, only gcn")));
        }
        if let Some(surface) = self.surfaces.first().filter(|_| isa != Isa::Fermi || context.has_handles) {
            return Err(surface.error("only chips from gf100 to gf119 have such surfaces"));
        }
        let mut textures = Textures {
            headers: entries(&self.textures, SLOTS, 8)?,
            samplers: entries(&self.samplers, SLOTS, 8)?,
            surfaces: entries(&self.surfaces, SURFACES, 6)?,
            ..Textures::default()
        };
        if let Some(t) = &self.tables {
            let table = |key| t.get(key).map(|v| buffers.index(&v)).transpose();
            (textures.header_table, textures.sampler_table) = (table("tic")?, table("tsc")?);
            let handles = t.get("handles");
            t.finish()?;
            if let Some(handles) = &handles
                && !context.has_handles
            {
                return Err(handles.error("only chips from gk104 on have texture handles"));
            }
            let most = context.rules.const_banks.saturating_sub(1);
            textures.handles = handles.map(|v| v.u32(0, most)).transpose()?.map(|bank| bank as u8);
        }
        for t in &self.binds {
            bind(t, &mut textures)?;
        }
        if let Some(t) = &self.images {
            textures.tile_modes = words(t.get("tile_modes"))?.map(Box::new);
            textures.macrotile_modes = words(t.get("macrotile_modes"))?.map(Box::new);
            textures.address_config = t.get("gb_addr_config").map(|v| v.u32(0, u32::MAX)).transpose()?;
            textures.border_colors = t.get("border_colors").map(|v| buffers.index(&v)).transpose()?;
            t.finish()?;
        }
        Ok(textures)
    }
}

/// A list of exactly so many words.
fn words<const N: usize>(value: Option<Value<'_>>) -> Result<Option<[u32; N]>> {
    let Some(value) = value else { return Ok(None) };
    let list = value.list(&format!("a list of {N} words"))?;
    if list.len() != N {
        return Err(value.error(format!("has {} words, must have {N}", list.len())));
    }
    let mut words = [0; N];
    for (word, value) in words.iter_mut().zip(&list) {
        *word = value.u32(0, u32::MAX)?;
    }
    Ok(Some(words))
}

/// The entries of slots.
fn entries(tables: &[Table<'_>], slots: u32, size: usize) -> Result<Vec<(u32, Entry)>> {
    let mut entries: Vec<(u32, Entry)> = Vec::new();
    for t in tables {
        let slot = t.need("slot", "the number that instructions name")?;
        let value = t.need("words", &format!("the {size} words of the entry"))?;
        t.finish()?;
        let number = slot.u32(0, slots - 1)?;
        if entries.iter().any(|(other, _)| *other == number) {
            return Err(slot.error(format!("slot {number} is given twice")));
        }
        let list = value.list(&format!("a list of {size} words"))?;
        if list.len() != size {
            return Err(value.error(format!("has {} words, must have {size}", list.len())));
        }
        let mut entry = [0; 8];
        for (word, value) in entry.iter_mut().zip(&list) {
            *word = value.u32(0, u32::MAX)?;
        }
        entries.push((number, entry));
    }
    Ok(entries)
}

/// One `[[bind]]`.
fn bind(t: &Table<'_>, textures: &mut Textures) -> Result<()> {
    let Some((kind, slot)) = t.one_of(&["texture", "sampler"])? else {
        return Err(t.error("needs `texture` with `tic`, or `sampler` with `tsc`"));
    };
    let is_texture = kind == "texture";
    let (key, other) = if is_texture { ("tic", "tsc") } else { ("tsc", "tic") };
    t.refuse(&[other], &format!("does not go with `{kind}`"))?;
    let entry = t.need(key, "the number of the entry")?.u32(0, ENTRIES - 1)?;
    t.finish()?;
    let number = slot.u32(0, SLOTS - 1)?;
    let (table, given, bindings) = match is_texture {
        true => (textures.header_table, &textures.headers, &mut textures.texture_bindings),
        false => (textures.sampler_table, &textures.samplers, &mut textures.sampler_bindings),
    };
    if table.is_none() {
        return Err(slot.error(format!("there is no table; [textures] names none as `{key}`")));
    }
    if given.iter().any(|(other, _)| *other == number) || bindings.iter().any(|(other, _)| *other == number) {
        return Err(slot.error(format!("slot {number} is given twice")));
    }
    bindings.push((number, entry));
    Ok(())
}
