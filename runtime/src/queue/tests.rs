//! What threads and timers of queues keep, which callers do not see.

use super::{Priority, Queue, Submission};
use crate::exec::lanes::{Lanes, Served};
use crate::{Access, Config, Engine, Idle, Isa, Launch, Memory, Program, ProgramOptions, QueueOptions};
use std::sync::Arc;
use std::time::Duration;
use warpjit_frontend::tesla::{Chip, Target, assemble};

/// A program that ends at once.
fn nothing() -> Program {
    let code = assemble("exit nop\n", Target::compute(Chip::G80)).unwrap().code;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse().unwrap())).registers(Some(4));
    Program::load(&code, &options).unwrap()
}

/// A queue as the pool's threads see it.
fn served(queue: &Queue) -> Arc<dyn Served> {
    queue.state().clone()
}

/// An engine whose queues nobody serves.
fn engine() -> (Engine, Memory) {
    let engine = Engine::new(Config::default().idle(Idle::Embedder)).unwrap();
    let memory = engine.memory().unwrap();
    memory.map(None, 4, Access::ReadWrite).unwrap();
    (engine, memory)
}

fn submission(memory: &Memory) -> Submission {
    Submission::launch(&nothing(), memory, Launch::default().grid([1, 1, 1]).block([1, 1, 1]))
}

#[test]
fn a_queue_that_comes_when_nothing_runs_begins_with_the_time_of_others() {
    let (engine, memory) = engine();
    let mut lanes = Lanes::default();
    let busy = engine.queue(QueueOptions::new());
    let _ticket = busy.submit(submission(&memory));
    lanes.stir(&served(&busy));
    let second = Duration::from_secs(1);
    for _ in 0..5 {
        let picked = lanes.pick().expect("it has something");
        lanes.served(&picked, second);
    }
    // It has nothing any more.
    busy.state().close(true);
    lanes.stir(&served(&busy));
    assert!(lanes.pick().is_none());
    let fresh = engine.queue(QueueOptions::new());
    let _ticket = fresh.submit(submission(&memory));
    lanes.stir(&served(&fresh));
    assert_eq!(lanes.time_of(&served(&fresh)), Some(5 * second.as_nanos() as u64));
    let other = engine.queue(QueueOptions::new().priority(Priority::High));
    let _ticket = other.submit(submission(&memory));
    lanes.stir(&served(&other));
    assert_eq!(lanes.time_of(&served(&other)), Some(0), "each priority has its own scale");
}

#[test]
fn what_has_ended_leaves_no_timer_of_its_deadline() {
    let (engine, memory) = engine();
    let queue = engine.queue(QueueOptions::new());
    let within = || submission(&memory).within(Duration::from_secs(3600));
    let timers = || engine.pool.with_lanes(|lanes| lanes.have_timers());
    let ticket = queue.submit(within());
    assert!(timers());
    assert_eq!(ticket.wait().unwrap().fault, None);
    assert!(!timers());
    let ticket = queue.submit(within());
    ticket.cancel();
    assert!(ticket.wait().is_err() && !timers());
}
