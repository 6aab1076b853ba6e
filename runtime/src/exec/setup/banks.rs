//! Const banks of a launch.

use std::sync::Arc;

use warpjit_frontend::module::ConstPart;

use super::Needs;
use crate::{Error, Launch, LaunchError};

/// Bytes of a const bank; what is not bound reads as zero.
pub const CONST_BYTES: usize = 1 << 16;
/// Const banks that a guest can name.
pub const CONST_BANKS: usize = warpjit_backend::CONST_BANKS;
/// Bytes after the end of a space that compiled code may read with an access that begins inside.
pub const SLACK_BYTES: usize = 8;

/// A const bank of [`CONST_BYTES`] plus [`SLACK_BYTES`]. Most banks are empty and share one static array, without a
/// reference count, because launches are short.
#[derive(Debug, Clone)]
pub enum Bank {
    /// Zeros.
    Empty,
    /// Contents, which clones of a prepared launch share until one writes to them.
    Filled(Arc<Vec<u8>>),
}

impl Bank {
    /// A bank with these contents, padded with zeros.
    pub(super) fn new(mut bytes: Vec<u8>) -> Bank {
        if bytes.is_empty() {
            return Bank::Empty;
        }
        bytes.resize(CONST_BYTES + SLACK_BYTES, 0);
        Bank::Filled(Arc::new(bytes))
    }

    /// The contents with the slack.
    #[inline]
    pub fn bytes(&self) -> &[u8] {
        // Aligned to a cache line.
        #[repr(align(64))]
        struct Zeros([u8; CONST_BYTES + SLACK_BYTES]);
        static EMPTY: Zeros = Zeros([0; CONST_BYTES + SLACK_BYTES]);
        match self {
            Bank::Empty => &EMPTY.0,
            Bank::Filled(bytes) => bytes,
        }
    }
}

/// The contents of all banks, without padding. The launch's banks override the container's parts, except in the
/// compiler's bank, where it is the other way round.
pub(super) fn bind_consts(needs: &Needs<'_>, launch: &Launch) -> Result<Vec<Vec<u8>>, Error> {
    let mut banks = vec![Vec::new(); CONST_BANKS];
    let mut put = |index: u32, offset: u32, bytes: &[u8]| {
        let bank: Option<&mut Vec<u8>> = usize::try_from(index).ok().and_then(|index| banks.get_mut(index));
        let Some(bank) = bank else {
            return Err(LaunchError::NoConstBank { bank: index, limit: CONST_BANKS }.into());
        };
        let start = offset as usize;
        if start + bytes.len() > CONST_BYTES {
            let bytes = start + bytes.len();
            return Err(Error::from(LaunchError::ConstBytes { bank: index, bytes, limit: CONST_BYTES }));
        }
        bank.resize(bank.len().max(start + bytes.len()), 0);
        bank[start..start + bytes.len()].copy_from_slice(bytes);
        Ok(())
    };
    let own = |part: &&ConstPart| Some(part.bank) == needs.compiler_bank;
    for part in needs.consts.iter().filter(|part| !own(part)) {
        put(part.bank, part.offset, &part.bytes)?;
    }
    for (index, bytes) in &launch.consts {
        put(*index, 0, bytes)?;
    }
    for part in needs.consts.iter().filter(own) {
        put(part.bank, part.offset, &part.bytes)?;
    }
    Ok(banks)
}
