//! Devices: functions that a frontend registers and that lanes call with arguments in their local memory.
//!
//! What a warp's lanes ask of a unit beside the processor, such as a texture unit, is a [`Opcode::CallDevice`](crate::Opcode::CallDevice).
//! The arguments are words of each lane's local memory, and the results are put there, so that a call can have any number of both. The
//! function reaches guest memory and the launch's texture tables through [`DeviceAccess`]. The interpreter and compiled code call the same
//! function, so both give the same bits.

use std::any::Any;
use std::fmt;

/// A fault of a device call.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DeviceFault {
    /// Guest memory that may not be accessed.
    Memory {
        /// Lane of the warp.
        lane: u32,
        /// The first address that may not be accessed.
        address: u64,
        /// Whether it was a store or an atomic.
        store: bool,
    },
    /// What a texture instruction needs is missing or undefined.
    Texture {
        /// Lane of the warp.
        lane: u32,
        /// What the instruction names.
        slot: Option<u32>,
        /// What is wrong.
        reason: &'static str,
        /// The address of the texel, if that is what is wrong.
        address: Option<u64>,
    },
}

/// What a device call may access.
pub trait DeviceAccess {
    /// Lanes of a warp.
    fn lanes(&self) -> u32;

    /// The word of a lane's local memory at a byte address, a multiple of 4.
    fn local(&self, lane: u32, address: u32) -> u32;

    /// Words of a lane's local memory, one behind the other.
    fn locals(&self, lane: u32, address: u32, words: &mut [u32]) {
        for (n, word) in (0..).zip(words) {
            *word = self.local(lane, address + 4 * n);
        }
    }

    /// Replaces that word.
    fn set_local(&mut self, lane: u32, address: u32, value: u32);

    /// Reads guest memory; the error is the first address that may not be read.
    ///
    /// # Errors
    ///
    /// Some byte may not be read.
    fn read(&mut self, address: u64, bytes: &mut [u8]) -> Result<(), u64>;

    /// Reads a word of four bytes of guest memory; the error is as that of [`DeviceAccess::read`].
    ///
    /// # Errors
    ///
    /// Some byte may not be read.
    fn word(&mut self, address: u64) -> Result<u32, u64> {
        let mut bytes = [0; 4];
        self.read(address, &mut bytes)?;
        Ok(u32::from_le_bytes(bytes))
    }

    /// Writes guest memory; the error is the first address that may not be written, and nothing is written then.
    ///
    /// # Errors
    ///
    /// Some byte may not be written.
    fn write(&mut self, address: u64, bytes: &[u8]) -> Result<(), u64>;

    /// Replaces the word of 4 or 8 bytes at an address by what `update` makes of it, in one atomic step, and returns what it was.
    ///
    /// # Errors
    ///
    /// The word may not be written: the address.
    fn update(&mut self, address: u64, bytes: u8, update: &dyn Fn(u64) -> u64) -> Result<u64, u64>;

    /// What the launch says about textures.
    fn textures(&self) -> &TextureTables;

    /// Serves the lanes of a call by code that was generated for the request, if there is some; `false`: the device has to.
    ///
    /// `words` are all that the request depends on besides the lanes' arguments: the call's constant, descriptors of textures and so on.
    /// `describe` says what that is to be, for whoever implements this, and is called when these words are new. What it said may be used in
    /// other launches, too.
    fn serve(
        &mut self,
        at: ServeAt,
        words: &[u32],
        describe: &mut dyn FnMut(&TextureTables) -> Option<Box<dyn Any>>,
    ) -> bool {
        let _ = (at, words, describe);
        false
    }
}

/// Lanes that [`DeviceAccess::serve`] serves.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct ServeAt {
    /// Byte address of their arguments and results in local memory.
    pub mailbox: u32,
    /// A bit each.
    pub lanes: u64,
    /// The words of the request follow from the call's constant, as long as the launch runs: no lane and no guest memory has a part in
    /// them. So later calls need not ask for them.
    pub fixed: bool,
}

/// One call.
pub struct DeviceCall<'a> {
    /// The constant of the instruction ([`DeviceSite::params`]).
    pub params: u64,
    /// Byte address of the arguments and results in local memory.
    pub mailbox: u32,
    /// Lanes that call, a bit each.
    pub lanes: u64,
    /// Memory.
    pub access: &'a mut dyn DeviceAccess,
}

impl DeviceCall<'_> {
    /// Word `index` of the mailbox of a lane.
    pub fn arg(&self, lane: u32, index: u32) -> u32 {
        self.access.local(lane, self.mailbox + 4 * index)
    }

    /// Words of the mailbox of a lane, from `first` on.
    pub fn args<const N: usize>(&self, lane: u32, first: u32) -> [u32; N] {
        let mut words = [0; N];
        self.access.locals(lane, self.mailbox + 4 * first, &mut words);
        words
    }

    /// Word `index` as a float.
    pub fn float(&self, lane: u32, index: u32) -> f32 {
        f32::from_bits(self.arg(lane, index))
    }

    /// Replaces word `index` of the mailbox of a lane.
    pub fn set(&mut self, lane: u32, index: u32, value: u32) {
        self.access.set_local(lane, self.mailbox + 4 * index, value);
    }

    /// The lanes that call, lowest first.
    pub fn each_lane(&self) -> impl Iterator<Item = u32> + use<> {
        let mut left = self.lanes;
        std::iter::from_fn(move || {
            let lane = (left != 0).then(|| left.trailing_zeros())?;
            left &= left - 1;
            Some(lane)
        })
    }
}

/// A device.
pub struct DeviceFn {
    /// Name in the text format, `isa.device`, unique among all frontends.
    pub name: &'static str,
    /// Serves the lanes, lowest first; a fault ends the call, and lanes below have been served. Must not panic.
    pub run: fn(&mut DeviceCall<'_>) -> Result<(), DeviceFault>,
    /// Whether a call with that constant may change guest memory. Then it has the order of the program between the lanes of a warp.
    pub stores: fn(params: u64) -> bool,
}

impl fmt::Debug for DeviceFn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("DeviceFn").field(&self.name).finish()
    }
}

/// What a [`Opcode::CallDevice`](crate::Opcode::CallDevice) calls.
#[derive(Clone, Copy, Debug)]
pub struct DeviceSite {
    /// The function.
    pub callee: &'static DeviceFn,
    /// A constant for the function, such as the guest's instruction word.
    pub params: u64,
    /// Byte address of arguments and results in local memory, a multiple of 4.
    pub mailbox: u32,
}

impl PartialEq for DeviceSite {
    fn eq(&self, other: &Self) -> bool {
        (self.callee.name, self.params, self.mailbox) == (other.callee.name, other.params, other.mailbox)
    }
}

impl Eq for DeviceSite {}

impl std::hash::Hash for DeviceSite {
    fn hash<H: std::hash::Hasher>(&self, state: &mut H) {
        (self.callee.name, self.params, self.mailbox).hash(state);
    }
}

/// An entry of a table of texture headers, samplers or surfaces.
pub type TextureEntry = [u32; 8];

/// What a launch says about textures. What a guest has in registers (GCN's descriptors) is not here.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct TextureTables {
    /// Texture headers by slot; all zeros: none.
    pub textures: Vec<(u32, TextureEntry)>,
    /// Samplers by slot.
    pub samplers: Vec<(u32, TextureEntry)>,
    /// Surfaces by slot; six words.
    pub surfaces: Vec<(u32, TextureEntry)>,
    /// Table of texture headers in guest memory: address and bytes. Then slots are bound to entries.
    pub header_table: Option<(u64, u64)>,
    /// Table of samplers in guest memory.
    pub sampler_table: Option<(u64, u64)>,
    /// Entry of each texture slot that is bound.
    pub texture_bindings: Vec<(u32, u32)>,
    /// Entry of each sampler slot that is bound.
    pub sampler_bindings: Vec<(u32, u32)>,
    /// Const bank whose words are texture handles (GK104); 15 if the launch says nothing.
    pub handles: Option<u8>,
    /// GB_TILE_MODE registers; the driver's of the chip if not given.
    pub tile_modes: Option<Box<[u32; 32]>>,
    /// GB_MACROTILE_MODE registers.
    pub macrotile_modes: Option<Box<[u32; 16]>>,
    /// GB_ADDR_CONFIG.
    pub address_config: Option<u32>,
    /// Table of border colours in guest memory, 16 bytes each.
    pub border_colors: Option<u64>,
}
