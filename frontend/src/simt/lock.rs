//! Emits locked accesses: a load that tries to take the lock of a word, a store that frees it. Each gets a block of its own.

use warpjit_ir::{Imm, MemAccess, Opcode, Slot, Type, Value};

use super::Emitter;

impl<O> Emitter<'_, O> {
    /// In a block of its own: tries to take the lock of the word at `address`; where that worked.
    pub(crate) fn lock(&mut self, word: MemAccess, address: Value) -> Value {
        let mut args = vec![address];
        args.extend(self.guard);
        let success = self.b.push(Opcode::Lock, &args, Imm::Mem(word), Some(Type::MASK));
        success.expect("has a result")
    }

    /// Stores the word in slot `value` to the address in slot `address` and frees its lock.
    pub(crate) fn store_unlock(&mut self, word: MemAccess, address: Slot, value: Slot) {
        self.isolated(|e| {
            let mut args = vec![e.get(address), e.get(value)];
            args.extend(e.guard);
            e.b.push(Opcode::UnlockStore, &args, Imm::Mem(word), None);
        });
    }
}
