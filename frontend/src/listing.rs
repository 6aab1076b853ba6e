//! What stands before the text in each line of a listing, of every instruction set: address, words, and marks of targets.

use std::fmt;

/// The beginning of a line; before the line of what is called stands an empty one.
pub(crate) struct LineHead {
    /// Address.
    pub(crate) pc: u64,
    /// The words, or the bytes that are left at the end of the code.
    pub(crate) raw: u64,
    /// Length in bytes: 4 or 8, less at the end of cut code.
    pub(crate) len: u8,
    /// A branch goes here.
    pub(crate) branch_target: bool,
    /// A call goes here.
    pub(crate) call_target: bool,
}

impl fmt::Display for LineHead {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.call_target {
            writeln!(f)?;
        }
        let first = usize::from(self.len.min(4));
        let second = usize::from(self.len.saturating_sub(4));
        write!(f, "{:08x}: {:0width$x}", self.pc, self.raw & 0xffff_ffff, width = 2 * first)?;
        match second {
            0 => write!(f, "{:blank$}", "", blank = 9 + 8 - 2 * first)?,
            _ => {
                let (width, blank) = (2 * second, 8 - 2 * second);
                write!(f, " {:0width$x}{:blank$}", self.raw >> 32, "")?;
            }
        }
        let call = if self.call_target { 'C' } else { ' ' };
        let branch = if self.branch_target { 'B' } else { ' ' };
        write!(f, "  {call}{branch} ")
    }
}
