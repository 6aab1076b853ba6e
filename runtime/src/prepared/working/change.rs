//! What changes from run to run of a prepared launch: arguments, user data, constants, the grid, and the kind of code that memory needs.

use super::Working;
use crate::Error;
use crate::prepared::{Consts, number};
use crate::variant::Needs;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

impl Working {
    /// Sets everything that a dispatch says: all arguments and all words of user data ([`Working::read_user_data`]).
    pub fn apply(
        &mut self,
        (args, user_data): (&[u8], &[u32]),
        (grid, blocks): ([u32; 3], &Range<u64>),
        consts: Option<&Arc<Consts>>,
    ) -> Result<(), Error> {
        match consts {
            Some(consts) if consts.version != self.consts_version => {
                self.plan()?.consts.clone_from(&consts.banks);
                self.consts_version = consts.version;
                // What a launch puts there itself.
                let (grid, blocks) = (self.plan.grid, self.plan.blocks.clone());
                let template = self.template.clone();
                self.plan()?.set_grid(&template.program.needs(), grid, Some(blocks))?;
            }
            None if self.consts_version != 0 => *self = Working::new(self.template.clone())?,
            _ => {}
        }
        self.set_grid(grid, Some(blocks.clone()))?;
        self.set_args(0, args)?;
        self.set_user_data(0, user_data)
    }

    pub fn set_args(&mut self, offset: usize, bytes: &[u8]) -> Result<(), Error> {
        let template = self.template.clone();
        self.plan()?.set_args(&template.program.needs(), offset, bytes)
    }

    pub fn set_user_data(&mut self, first: usize, words: &[u32]) -> Result<(), Error> {
        let most = self.most_user;
        let known = self.plan.user_data().get(first..first.saturating_add(words.len()));
        if known == Some(words) {
            return Ok(());
        }
        let template = self.template.clone();
        self.plan()?.set_user_data(&template.program.needs(), first, words, most)?;
        self.vectors.stale = true;
        self.others.iter_mut().flatten().for_each(|other| other.stale = true);
        Ok(())
    }

    pub fn set_const(&mut self, bank: u32, offset: u32, bytes: &[u8]) -> Result<(), Error> {
        let template = self.template.clone();
        self.snapshot = OnceLock::new();
        self.plan()?.set_const(&template.program.needs(), bank, offset, bytes)?;
        self.consts_version = number();
        Ok(())
    }

    pub fn set_grid(&mut self, grid: [u32; 3], blocks: Option<Range<u64>>) -> Result<(), Error> {
        if grid != self.plan.grid {
            // Frames may hold what depends on the grid.
            self.forget_blocks();
        } else if blocks.as_ref().is_some_and(|blocks| *blocks == self.plan.blocks) {
            return Ok(());
        }
        let template = self.template.clone();
        self.plan()?.set_grid(&template.program.needs(), grid, blocks)?;
        self.check_captures()
    }

    pub(super) fn forget_blocks(&mut self) {
        self.vectors.block = None;
        self.others.iter_mut().flatten().for_each(|other| other.block = None);
    }

    /// Makes it again for the memory as it is now, which needs other code.
    pub(super) fn adapt(&mut self, code: Needs) -> Result<(), Error> {
        let mut new = Working::made(self.template.clone(), code)?;
        let mut args = Vec::new();
        self.read_args(&mut args);
        new.set_grid(self.grid(), Some(self.blocks()))?;
        new.plan()?.consts.clone_from(&self.plan.consts);
        new.consts_version = self.consts_version;
        new.set_args(0, &args)?;
        new.set_user_data(0, self.plan.user_data())?;
        *self = new;
        Ok(())
    }
}
