//! A terminator.

use super::*;

impl Parser<'_> {
    /// The terminator that comes next; nothing if something else does.
    pub(super) fn terminator(&mut self) -> Result<Option<Terminator>> {
        let Token::Word(word) = self.peek().clone() else { return Ok(None) };
        let (stem, suffix) = word.split_once('.').unwrap_or((&word, ""));
        match word.as_str() {
            "jump" | "branch" | "call" | "join" | "join.target" | "quadon" | "quadpop" | "barrier"
            | "branch_indirect" | "fault" | "br_any" | "br_if" | "return" => {
                self.next();
            }
            _ if stem == "push" => {
                let Some(&(kind, _)) = PUSH_KINDS.iter().find(|(_, n)| *n == suffix) else {
                    return self.expected("`push.join`, `.break`, `.continue`, `.call` or `.long`");
                };
                self.next();
                let target = self.block_ref()?;
                return Ok(Some(Terminator::Push { kind, target, next: self.arrow()? }));
            }
            _ if stem == "leave" => {
                let Some(&(kind, _)) = LEAVE_KINDS.iter().find(|(_, n)| *n == suffix) else {
                    return self.expected("`leave.break`, `.continue`, `.return`, `.long` or `.exit`");
                };
                self.next();
                let cond = self.optional_value("if")?;
                return Ok(Some(Terminator::Leave { kind, cond, next: self.arrow()? }));
            }
            _ => return Ok(None),
        }
        Ok(Some(match word.as_str() {
            "jump" => Terminator::Jump(self.block_call()?),
            "branch" | "br_any" | "br_if" => {
                let cond = self.value_ref()?;
                self.expect_sign(',')?;
                let taken = self.block_call()?;
                self.expect_sign(',')?;
                let next = self.block_call()?;
                match word.as_str() {
                    "branch" => Terminator::Branch { cond, taken, next },
                    "br_any" => Terminator::BrAny { mask: cond, taken, next },
                    _ => Terminator::BrIf { cond, taken, next },
                }
            }
            "call" => {
                let target = self.block_ref()?;
                Terminator::Call { target, ret: self.arrow()? }
            }
            "join" | "join.target" => {
                let cond = self.optional_value("if")?;
                Terminator::Join { cond, next: self.arrow()?, at_target: word == "join.target" }
            }
            "quadon" => Terminator::QuadOn { next: self.arrow()? },
            "quadpop" => Terminator::QuadPop { next: self.arrow()? },
            "barrier" => {
                let index = self.number(255, "the barrier's index")? as u8;
                let arrive = self.eat_word("arrive");
                let wait = self.eat_word("wait");
                let warps =
                    if self.eat_word("warps") { Some(self.number32("the number of warps")?) } else { None };
                let from = if self.eat_word("from") {
                    let at = self.at;
                    let slot = Slot(self.entity("s", "a slot")?);
                    self.slots_used.entry(slot).or_insert(at);
                    Some(slot)
                } else {
                    None
                };
                let spec = BarrierSpec { index, arrive, wait, warps, from };
                Terminator::Barrier { spec, next: self.arrow()? }
            }
            "branch_indirect" => Terminator::BranchIndirect { address: self.value_ref()? },
            "fault" => Terminator::Fault(if self.eat_word("illegal") {
                GuestFault::Illegal
            } else if self.eat_word("trap") {
                GuestFault::Trap
            } else {
                return self.expected("`illegal` or `trap`");
            }),
            _ => Terminator::Return {
                exit: self.number32("the exit's number")?,
                exited: self.optional_value("exited")?,
                cond: self.optional_value("cond")?,
            },
        }))
    }
}
