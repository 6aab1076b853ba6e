//! What a thread needs to run a prepared launch: the plan, the code, and for each strategy a stepper's storage and a
//! block.

mod change;
mod run;

use super::{Consts, Template};
use crate::exec::block::RunningBlock;
use crate::exec::setup::{Plan, UserWords, extend_user_data, user_words};
use crate::exec::strategy::Strategy;
use crate::exec::{Kept, Tiers};
use crate::fork::Section;
use crate::memory::Pinned;
use crate::variant::{Needs, Variant};
use crate::{Config, Error, LaunchError};
use std::ops::Range;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

/// What it needs for one strategy.
struct Means {
    tiers: Arc<Tiers>,
    /// Where its frames have user data.
    user: Vec<UserWords>,
    kept: Option<Kept>,
    /// A block that can be reset for the next run.
    block: Option<Box<RunningBlock>>,
    /// Whether user data has changed since the block was set up.
    stale: bool,
}

impl Means {
    fn new(tiers: Arc<Tiers>) -> Means {
        let user = user_words(tiers.function());
        Means { tiers, user, kept: None, block: None, stale: false }
    }
}

/// A run that has begun.
struct Running {
    start: Instant,
    /// Compile times at the start.
    before: (Duration, Duration),
    held: Pinned,
    /// Its only block, if it is suspended, and the strategy with which it runs.
    block: Option<(Box<RunningBlock>, Strategy)>,
    /// Thread instructions so far.
    threads: (u64, u64),
    /// Whether somebody asked to stop.
    stopped: bool,
}

/// How a run has begun.
pub(crate) enum Begun {
    /// It runs.
    Yes,
    /// It was cancelled before.
    Cancelled,
    /// Another launch has the addresses of its segments.
    Later,
}

/// See the module.
pub(crate) struct Working {
    template: Arc<Template>,
    variant: Variant,
    /// Whether code was asked for that is checked, and that translates addresses. The space may want more of it.
    made_for: Needs,
    /// No warp reaches the launch's limit of steps.
    unlimited: bool,
    plan: Arc<Plan>,
    vectors: Means,
    others: [Option<Means>; Strategy::OTHERS],
    most_user: usize,
    consts_version: u64,
    /// The const banks as dispatches take them along.
    snapshot: OnceLock<Arc<Consts>>,
    /// Whether the only block may run without a scheduler.
    may_be_alone: bool,
    running: Option<Running>,
}

/// The settings of a launch in its memory as it is now.
fn variant_of(template: &Template, needs: Needs) -> (Variant, bool) {
    let Template { engine, program, memory, launch, .. } = template;
    let mut variant = Variant::new(engine.config(), launch, needs.translation);
    variant.settle_memory(memory, needs);
    let unlimited = program.ends_within(launch.max_steps);
    variant.exact_steps &= !unlimited || engine.config().count;
    (variant, unlimited)
}

impl Working {
    pub fn new(template: Arc<Template>) -> Result<Working, Error> {
        crate::vm::on_enough_stack(|| {
            let needs = Needs::with(template.engine.config(), &template.memory);
            Working::made(template, needs)
        })
    }

    /// With code for what a memory needs.
    fn made(template: Arc<Template>, code: Needs) -> Result<Working, Error> {
        let _section = Section::enter();
        let Template { engine, program, launch, .. } = &*template;
        let (variant, unlimited) = variant_of(&template, code);
        let tiers = program.tiers(variant, engine.config(), launch.cancel.as_ref())?;
        let mut plan = Plan::new(&program.needs(), tiers.function(), launch, None)?;
        if unlimited {
            plan.max_steps = 0;
        }
        let vectors = Means::new(tiers);
        let known = program.needs().known_user_data.iter().map(|&(number, _)| usize::from(number) + 1);
        let most_user = vectors.user.iter().map(|words| words.number + 1).chain(known).max().unwrap_or(0);
        let Config { observe, count, .. } = engine.config();
        let may_be_alone = !launch.capture_registers
            && !launch.capture_shared
            && !count
            && observe.sample_rate == 0
            && !observe.count
            && !observe.listings;
        let working = Working {
            variant,
            made_for: code,
            unlimited,
            plan: Arc::new(plan),
            vectors,
            others: Default::default(),
            most_user,
            consts_version: 0,
            snapshot: OnceLock::new(),
            may_be_alone,
            running: None,
            template: template.clone(),
        };
        working.check_captures()?;
        Ok(working)
    }

    fn check_captures(&self) -> Result<(), Error> {
        let (launch, plan) = (&self.template.launch, &self.plan);
        let one = plan.blocks.end - plan.blocks.start == 1;
        if launch.capture_registers && (!one || plan.warps != 1) {
            return Err(LaunchError::CapturedWarps.into());
        }
        if launch.capture_shared && !one {
            return Err(LaunchError::CapturedBlocks.into());
        }
        Ok(())
    }

    /// One with the same arguments.
    pub fn another(&self) -> Working {
        let mut plan = self.plan.again();
        if self.unlimited {
            plan.max_steps = 0;
        }
        Working {
            template: self.template.clone(),
            variant: self.variant,
            made_for: self.made_for,
            unlimited: self.unlimited,
            plan: Arc::new(plan),
            vectors: Means::new(self.vectors.tiers.clone()),
            others: Default::default(),
            most_user: self.most_user,
            consts_version: self.consts_version,
            snapshot: OnceLock::new(),
            may_be_alone: self.may_be_alone,
            running: None,
        }
    }

    pub fn template(&self) -> &Arc<Template> {
        &self.template
    }

    /// Replaces what the launch is of; everything but its token and its callback must be the same.
    pub fn set_template(&mut self, template: Arc<Template>) {
        self.template = template;
    }

    /// The plan, while nothing runs. Callers take no clone that lasts longer than a run.
    fn plan(&mut self) -> Result<&mut Plan, Error> {
        Arc::get_mut(&mut self.plan).ok_or_else(|| LaunchError::PreparedRuns.into())
    }

    pub fn grid(&self) -> [u32; 3] {
        self.plan.grid
    }

    pub fn check_grid(&self, grid: [u32; 3]) -> Result<(), Error> {
        self.plan.check_grid(&self.template.program.needs(), grid)
    }

    pub fn blocks(&self) -> Range<u64> {
        self.plan.blocks.clone()
    }

    pub fn args_bytes(&self) -> usize {
        self.plan.args_bytes()
    }

    pub fn read_args(&self, out: &mut Vec<u8>) {
        self.plan.read_args(&self.template.program.needs(), out);
    }

    /// Appends all words of user data that the program takes.
    pub fn read_user_data(&self, out: &mut Vec<u32>) {
        let start = out.len();
        out.extend_from_slice(self.plan.user_data());
        extend_user_data(&self.template.program.needs(), out, start, self.most_user);
    }

    pub fn most_user(&self) -> usize {
        self.most_user
    }

    /// The const banks, to give them to another one of the same launch; `None`: those of the launch itself.
    pub fn consts(&self) -> Option<Arc<Consts>> {
        let make = || Arc::new(Consts { version: self.consts_version, banks: self.plan.consts.clone() });
        (self.consts_version != 0).then(|| self.snapshot.get_or_init(make).clone())
    }
}

impl Drop for Working {
    fn drop(&mut self) {
        self.give_up();
    }
}
