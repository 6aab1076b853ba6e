//! The fuzz targets, a file each.
//!
//! | target | file |
//! |---|---|
//! | structured programs with a defined result, for each instruction set | [`structured`] |
//! | random words, and mutated programs of the corpus | [`words`] |
//! | accesses at the ends of memory | [`edges`] |
//! | mutated containers | [`containers`] |
//! | mutated launch files | [`launch_files`] |
//! | ioctls and command buffers of the pretended card | [`card`] |
//! | code objects and packets of HSA's library | [`hsa`] |

pub mod card;
pub mod containers;
pub mod edges;
pub mod hsa;
pub mod launch_files;
pub mod mutate;
pub mod structured;
pub mod words;

use warpjit_tests::random::rng::SplitMix;

use crate::coverage::Coverage;
use crate::oracle::{self, Engines};
use crate::{Finding, Guest};

/// What a worker keeps from case to case.
#[derive(Default)]
pub struct Context {
    /// Engines.
    pub engines: Engines,
    /// What was covered.
    pub coverage: Coverage,
}

/// What a target does with a seed.
#[derive(Clone, Copy)]
pub enum Act {
    /// Makes a guest that all ways must run alike; none where the seed gives none.
    Guest(fn(u64) -> Option<Guest>),
    /// Holds the case itself.
    Hold(fn(u64, &mut Context) -> Result<(), Box<Finding>>),
}

/// Something that is tried.
#[derive(Clone, Copy)]
pub struct Target {
    /// Its name.
    pub name: &'static str,
    /// What it is, in a line.
    pub about: &'static str,
    /// Of a hundred cases, about so many.
    pub share: u64,
    /// What it does.
    pub act: Act,
}

/// All targets.
pub const ALL: &[Target] = &[
    Target {
        name: "families",
        about: "Tesla programs: arithmetic, divergence, memory, with barriers and calls",
        share: 5,
        act: Act::Guest(structured::families),
    },
    Target {
        name: "tesla",
        about: "Tesla programs of all encodings, through windows, with wild addresses",
        share: 6,
        act: Act::Guest(structured::tesla),
    },
    Target {
        name: "fermi",
        about: "Fermi programs of all encodings",
        share: 6,
        act: Act::Guest(structured::fermi),
    },
    Target {
        name: "gcn-vector",
        about: "GCN vector instructions in all modes",
        share: 13,
        act: Act::Guest(structured::gcn_vector),
    },
    Target {
        name: "gcn-memory",
        about: "GCN memory instructions, buffers and images, anywhere in the address space",
        share: 9,
        act: Act::Guest(structured::gcn_memory),
    },
    Target {
        name: "gcn-scalar",
        about: "GCN scalar code, against a model",
        share: 4,
        act: Act::Hold(structured::gcn_scalar),
    },
    Target { name: "vp1", about: "VP1 bundles", share: 7, act: Act::Guest(structured::vp1) },
    Target {
        name: "words",
        about: "words at random and programs of the corpus with changes, all instruction sets",
        share: 19,
        act: Act::Guest(words::guest),
    },
    Target {
        name: "edges",
        about: "loads, stores and atomics where memory ends",
        share: 15,
        act: Act::Guest(edges::guest),
    },
    Target {
        name: "containers",
        about: "cubins, code objects and fat binaries with changes",
        share: 8,
        act: Act::Hold(containers::hold),
    },
    Target {
        name: "launch-files",
        about: "launch files with changes",
        share: 4,
        act: Act::Hold(launch_files::hold),
    },
    Target {
        name: "card-ioctls",
        about: "ioctls of the card that `warpjit exec` pretends",
        share: 2,
        act: Act::Hold(card::ioctls),
    },
    Target {
        name: "card-packets",
        about: "command buffers of that card: registers, draws, dispatches, copies",
        share: 2,
        act: Act::Hold(card::packets),
    },
    Target {
        name: "hsa-objects",
        about: "code objects with changes, for HSA's loader, and dispatches of their kernels",
        share: 2,
        act: Act::Hold(hsa::objects),
    },
    Target {
        name: "hsa-packets",
        about: "packets of HSA's queues: dispatches, barriers, signals, wild fields",
        share: 2,
        act: Act::Hold(hsa::packets),
    },
];

/// The target of that name.
pub fn named(name: &str) -> Option<&'static Target> {
    ALL.iter().find(|target| target.name == name)
}

/// One of these targets, each as often as its share says.
///
/// # Panics
///
/// Where there are none.
pub fn pick<'a>(targets: &'a [Target], random: &mut SplitMix) -> &'a Target {
    let all: u64 = targets.iter().map(|target| target.share).sum();
    let mut at = random.below(all);
    for target in targets {
        if at < target.share {
            return target;
        }
        at -= target.share;
    }
    &targets[0]
}

impl Target {
    /// The guest of a seed, where the target makes guests.
    pub fn guest(&self, seed: u64) -> Option<Guest> {
        match self.act {
            Act::Guest(make) => make(seed),
            Act::Hold(_) => None,
        }
    }

    /// Does what the target does with a seed.
    ///
    /// # Errors
    ///
    /// What does not hold.
    pub fn run(&self, seed: u64, context: &mut Context) -> Result<(), Box<Finding>> {
        context.coverage.count("cases", self.name);
        match self.act {
            Act::Hold(hold) => hold(seed, context),
            Act::Guest(make) => match make(seed) {
                Some(guest) => {
                    let mut random = SplitMix::new(seed ^ 0x7761_7973);
                    oracle::hold(&guest, &mut random, &mut context.engines, &mut context.coverage)
                }
                None => Ok(()),
            },
        }
    }
}
