//! A launch of any number of blocks, as an object that threads enter and leave ([`crate::queue`]).

use super::Template;
use crate::exec::setup::Plan;
use crate::exec::strategy::Strategy;
use crate::exec::{Outcome, Scheduler, Stop, Tiers, Watch};
use crate::variant::Variant;
use crate::{CancelToken, Memory};
use std::sync::Arc;
use std::time::Instant;

/// What a scheduler borrows.
pub(crate) struct Owned {
    pub plan: Arc<Plan>,
    pub tiers: Arc<Tiers>,
    pub template: Arc<Template>,
    /// Stops the launch, beside the launch's own token.
    pub cancel: CancelToken,
    /// Makes the tiers for other strategies.
    pub others: Others,
}

/// A launch that runs whenever threads serve it.
pub(crate) struct Wide {
    // Dropped first, because it borrows from `owned`.
    scheduler: Scheduler<'static>,
    owned: Arc<Owned>,
}

/// Makes the tiers for strategies other than vectors.
pub(crate) type Others = Box<dyn Fn(Strategy) -> Option<Arc<Tiers>> + Send + Sync>;

/// Makes what makes them. `tiers` are those of vectors.
pub(crate) fn others_of(template: &Arc<Template>, variant: Variant, tiers: &Arc<Tiers>) -> Others {
    let (template, tiers) = (template.clone(), tiers.clone());
    Box::new(move |strategy| {
        let (config, cancel) = (template.engine.config(), template.launch.cancel.as_ref());
        template.program.other_tiers(strategy, variant, &tiers, config, cancel)
    })
}

impl Wide {
    /// Makes it, for `threads` threads at a time. `set_up` says what else the scheduler may do.
    pub fn new(
        owned: Owned,
        threads: usize,
        deadline: Option<Instant>,
        set_up: impl FnOnce(&mut Scheduler<'static>, &'static Owned),
    ) -> Wide {
        let owned = Arc::new(owned);
        // SAFETY: what it names is in an `Arc` that this type owns besides the scheduler, and drops after it; it is never changed, and a
        // scheduler is never handed out by value.
        let forever: &'static Owned = unsafe { &*Arc::as_ptr(&owned) };
        let (memory, background): (&Memory, _) =
            (&forever.template.memory, &*forever.template.engine.background);
        let mut scheduler = Scheduler::new(&forever.plan, &forever.tiers, memory, background, threads);
        scheduler.cancel_by(forever.template.launch.cancel.as_ref());
        scheduler.stop_by(Stop { cancel: Some(&forever.cancel), deadline });
        scheduler.tell(forever.template.launch.progress.as_ref());
        scheduler.be_served();
        set_up(&mut scheduler, forever);
        Wide { scheduler, owned }
    }

    /// Runs blocks on this thread until then, or as long as there are some.
    pub fn serve(&self, until: Instant) {
        self.scheduler.serve(Watch::new(self.owned.template.engine.config()), until);
    }

    /// Whether one more thread beside `inside` would find something to do.
    pub fn has_work(&self, inside: usize) -> bool {
        inside == 0 || inside < self.scheduler.threads() && self.scheduler.has_work()
    }

    /// Whether all blocks have ended.
    pub fn is_over(&self) -> bool {
        self.scheduler.is_over()
    }

    /// What has come of it, once no thread is inside.
    pub fn outcome(self) -> Outcome {
        self.scheduler.outcome()
    }
}
