//! What lies outside of the video processor: registers that are no part of its state, and transfers. The embedder provides it.

/// The environment of the processor, which the embedder provides.
pub trait Outside {
    /// The program reads register `index` of a register file that is no part of the processor's state: 8 `$sr`, 9 `$mi`,
    /// 10 `$uc` (but 0 and 16), 22 `$d`, 23 `$f`; others are unknown. `None` leaves the destination as it is, which is
    /// the default.
    fn read(&mut self, file: u32, index: u32) -> Option<u32> {
        let _ = (file, index);
        None
    }

    /// The program writes such a register. The default does nothing.
    fn write(&mut self, file: u32, index: u32, value: u32) {
        let _ = (file, index, value);
    }

    /// The program starts a transfer or waits for one (`xdld`, `xdst`, `xdbar`, `xdwait`, opcode db). The default does
    /// nothing, and nothing is waited for.
    fn transfer(&mut self, transfer: Transfer<'_>) {
        let _ = transfer;
    }
}

/// A transfer that a program asks for.
#[derive(Debug)]
pub struct Transfer<'a> {
    /// The instruction.
    pub word: u32,
    /// `$a0` to `$a31`.
    pub a: [u32; 32],
    /// The data store in its raw layout.
    pub data_store: &'a mut [u8],
}

/// Nothing outside: [`Outside`] with its defaults.
#[derive(Debug, Clone, Copy, Default)]
pub struct Nobody;

impl Outside for Nobody {}
