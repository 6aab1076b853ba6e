//! Times native code on two threads, each of which does half of the work.

use std::hint::spin_loop;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::kernels::{Native, NativeBuild};

/// How long two threads take, each with one of the halves, after a run that warms the caches. Neither sleeps before it starts.
pub fn time(halves: &mut [Box<dyn Native>; 2], build: NativeBuild) -> Duration {
    let [first, second] = halves;
    let (ready, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            second.run(build);
            ready.fetch_add(1, Ordering::AcqRel);
            while ready.load(Ordering::Acquire) < 2 {
                spin_loop();
            }
            second.run(build);
            done.store(1, Ordering::Release);
        });
        first.run(build);
        while ready.load(Ordering::Acquire) < 1 {
            spin_loop();
        }
        let start = Instant::now();
        ready.fetch_add(1, Ordering::AcqRel);
        first.run(build);
        while done.load(Ordering::Acquire) < 1 {
            spin_loop();
        }
        start.elapsed()
    })
}
