//! Packets of the command processor: what a command buffer consists of.

use std::fmt;

/// A packet of type 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet<'a> {
    /// What it does ([`name`]).
    pub op: u8,
    /// Whether it is skipped if the predicate does not hold.
    pub predicated: bool,
    /// The words behind the header.
    pub body: &'a [u32],
}

/// Words that are no packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NoPacket {
    /// Type 0 or 1, which drivers of these chips do not send.
    Type(u32),
    /// The packet is longer than what is left of the buffer.
    Cut(u32),
    /// A packet needs more words than it has.
    Short(u8),
}

impl fmt::Display for NoPacket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoPacket::Type(header) => write!(f, "{header:#010x} is no header of a packet"),
            NoPacket::Cut(header) => {
                let op = name((header >> 8 & 0xff) as u8);
                write!(f, "packet {op} ({header:#010x}) is longer than the rest of the buffer")
            }
            NoPacket::Short(op) => write!(f, "packet {} is too short", name(*op)),
        }
    }
}

/// The packet at the beginning of some words, and how many of them it takes. `None`: filler.
pub(crate) fn decode(words: &[u32]) -> Result<(Option<Packet<'_>>, usize), NoPacket> {
    let Some(&header) = words.first() else { return Ok((None, 0)) };
    // Type 2, and a NOP of one word.
    if header >> 30 == 2 || header & 0xffff_ff00 == 0xffff_1000 {
        return Ok((None, 1));
    }
    if header >> 30 != 3 {
        return Err(NoPacket::Type(header));
    }
    let count = (header >> 16 & 0x3fff) as usize + 1;
    let body = words.get(1..=count).ok_or(NoPacket::Cut(header))?;
    Ok((Some(Packet { op: (header >> 8) as u8, predicated: header & 1 != 0, body }), 1 + count))
}

impl Packet<'_> {
    /// A word of the body.
    pub fn word(&self, at: usize) -> Result<u32, NoPacket> {
        self.body.get(at).copied().ok_or(NoPacket::Short(self.op))
    }

    /// Two words as a number.
    pub fn wide(&self, at: usize) -> Result<u64, NoPacket> {
        Ok(u64::from(self.word(at)?) | u64::from(self.word(at + 1)?) << 32)
    }

    /// An address of 48 bits, whose upper half may hold other fields in the bits above.
    pub fn address(&self, at: usize) -> Result<u64, NoPacket> {
        Ok(self.wide(at)? & 0xffff_ffff_ffff)
    }
}

/// Opcodes that the processor acts on.
pub(crate) mod op {
    pub const NOP: u8 = 0x10;
    pub const SET_BASE: u8 = 0x11;
    pub const CLEAR_STATE: u8 = 0x12;
    pub const INDEX_BUFFER_SIZE: u8 = 0x13;
    pub const DISPATCH_DIRECT: u8 = 0x15;
    pub const DISPATCH_INDIRECT: u8 = 0x16;
    pub const OCCLUSION_QUERY: u8 = 0x1f;
    pub const SET_PREDICATION: u8 = 0x20;
    pub const COND_EXEC: u8 = 0x22;
    pub const DRAW_INDIRECT: u8 = 0x24;
    pub const DRAW_INDEX_INDIRECT: u8 = 0x25;
    pub const INDEX_BASE: u8 = 0x26;
    pub const DRAW_INDEX_2: u8 = 0x27;
    pub const CONTEXT_CONTROL: u8 = 0x28;
    pub const INDEX_TYPE: u8 = 0x2a;
    pub const DRAW_INDIRECT_MULTI: u8 = 0x2c;
    pub const DRAW_INDEX_AUTO: u8 = 0x2d;
    pub const NUM_INSTANCES: u8 = 0x2f;
    pub const INDIRECT_BUFFER_CONST: u8 = 0x32;
    pub const STRMOUT_BUFFER_UPDATE: u8 = 0x34;
    pub const DRAW_INDEX_OFFSET_2: u8 = 0x35;
    pub const WRITE_DATA: u8 = 0x37;
    pub const DRAW_INDEX_INDIRECT_MULTI: u8 = 0x38;
    pub const WAIT_REG_MEM: u8 = 0x3c;
    pub const INDIRECT_BUFFER: u8 = 0x3f;
    pub const COPY_DATA: u8 = 0x40;
    pub const CP_DMA: u8 = 0x41;
    pub const PFP_SYNC_ME: u8 = 0x42;
    pub const SURFACE_SYNC: u8 = 0x43;
    pub const EVENT_WRITE: u8 = 0x46;
    pub const EVENT_WRITE_EOP: u8 = 0x47;
    pub const EVENT_WRITE_EOS: u8 = 0x48;
    pub const RELEASE_MEM: u8 = 0x49;
    pub const DMA_DATA: u8 = 0x50;
    pub const CONTEXT_REG_RMW: u8 = 0x51;
    pub const ACQUIRE_MEM: u8 = 0x58;
    pub const LOAD_CONTEXT_REG: u8 = 0x61;
    pub const SET_CONFIG_REG: u8 = 0x68;
    pub const SET_CONTEXT_REG: u8 = 0x69;
    pub const SET_SH_REG: u8 = 0x76;
    pub const SET_UCONFIG_REG: u8 = 0x79;
    pub const SET_UCONFIG_REG_INDEX: u8 = 0x7a;
    pub const SET_SH_REG_INDEX: u8 = 0x9b;
    pub const LOAD_CONTEXT_REG_INDEX: u8 = 0x9f;
}

/// The name of an opcode, for messages.
pub(crate) fn name(code: u8) -> String {
    let known = match code {
        op::NOP => "NOP",
        op::SET_BASE => "SET_BASE",
        op::DISPATCH_DIRECT => "DISPATCH_DIRECT",
        op::DISPATCH_INDIRECT => "DISPATCH_INDIRECT",
        op::SET_PREDICATION => "SET_PREDICATION",
        op::COND_EXEC => "COND_EXEC",
        op::DRAW_INDIRECT => "DRAW_INDIRECT",
        op::DRAW_INDEX_INDIRECT => "DRAW_INDEX_INDIRECT",
        op::DRAW_INDEX_2 => "DRAW_INDEX_2",
        op::DRAW_INDIRECT_MULTI => "DRAW_INDIRECT_MULTI",
        op::DRAW_INDEX_AUTO => "DRAW_INDEX_AUTO",
        op::STRMOUT_BUFFER_UPDATE => "STRMOUT_BUFFER_UPDATE",
        op::DRAW_INDEX_OFFSET_2 => "DRAW_INDEX_OFFSET_2",
        op::WRITE_DATA => "WRITE_DATA",
        op::DRAW_INDEX_INDIRECT_MULTI => "DRAW_INDEX_INDIRECT_MULTI",
        op::WAIT_REG_MEM => "WAIT_REG_MEM",
        op::INDIRECT_BUFFER | op::INDIRECT_BUFFER_CONST => "INDIRECT_BUFFER",
        op::COPY_DATA => "COPY_DATA",
        op::CP_DMA => "CP_DMA",
        op::EVENT_WRITE => "EVENT_WRITE",
        op::EVENT_WRITE_EOP => "EVENT_WRITE_EOP",
        op::EVENT_WRITE_EOS => "EVENT_WRITE_EOS",
        op::RELEASE_MEM => "RELEASE_MEM",
        op::DMA_DATA => "DMA_DATA",
        op::SET_CONFIG_REG => "SET_CONFIG_REG",
        op::SET_CONTEXT_REG => "SET_CONTEXT_REG",
        op::SET_SH_REG | op::SET_SH_REG_INDEX => "SET_SH_REG",
        op::SET_UCONFIG_REG | op::SET_UCONFIG_REG_INDEX => "SET_UCONFIG_REG",
        op::LOAD_CONTEXT_REG | op::LOAD_CONTEXT_REG_INDEX => "LOAD_CONTEXT_REG",
        _ => return format!("{code:#x}"),
    };
    known.to_owned()
}

/// The header of a packet, for tests.
#[cfg(test)]
pub(crate) fn header(op: u8, body: usize) -> u32 {
    3 << 30 | (body as u32 - 1) << 16 | u32::from(op) << 8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets() {
        assert_eq!(decode(&[]), Ok((None, 0)));
        assert_eq!(decode(&[0x8000_0000, 1]), Ok((None, 1)));
        assert_eq!(decode(&[0xffff_1000, 1]), Ok((None, 1)));
        assert_eq!(decode(&[0x0000_1234]), Err(NoPacket::Type(0x1234)));
        let words = [header(op::SET_SH_REG, 2) | 1, 0x10, 7, 9];
        let (packet, taken) = decode(&words).unwrap();
        assert_eq!(taken, 3);
        let packet = packet.unwrap();
        assert_eq!(packet, Packet { op: op::SET_SH_REG, predicated: true, body: &[0x10, 7] });
        assert_eq!(packet.wide(0), Ok(7 << 32 | 0x10));
        assert_eq!(packet.word(2), Err(NoPacket::Short(op::SET_SH_REG)));
        assert_eq!(decode(&words[..2]), Err(NoPacket::Cut(words[0])));
        let text = NoPacket::Cut(words[0]).to_string();
        assert!(text.starts_with("packet SET_SH_REG"), "{text}");
    }
}
