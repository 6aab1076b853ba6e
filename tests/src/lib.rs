//! What the end-to-end tests share: access to the corpus, random programs, and models.
//!
//! | where | what |
//! |---|---|
//! | `corpus/tesla/` | programs of the project's own, one folder each |
//! | `radv/` | makes `corpus/gcn-radv.tar.gz`, `gcn-radv-graphics.tar.gz` with Mesa, by hand (docs/testing.md) |
//! | `corpus/tesla-op.tar.gz` | one kernel per instruction form, packed; see `examples/pack_corpus.rs` |
//! | `../shared/corpus/third-party` | programs of others; where it is missing their tests are listed as ignored |
#![warn(missing_docs)]
#![forbid(unsafe_code)]

pub mod arrays;
pub mod corpus;
pub mod dialects;
pub mod engines;
pub mod fermi;
pub mod gcn;
pub mod guest;
pub mod needs;
pub mod random;
pub mod sizes;
pub mod vp1;

/// The README's example of the library, run with the documentation's tests.
#[cfg(doctest)]
#[doc = include_str!("../../README.md")]
pub struct Readme;

/// The examples of the page on embedding.
#[cfg(doctest)]
#[doc = include_str!("../../docs/embedding.md")]
pub struct Embedding;
