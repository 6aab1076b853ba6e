//! The library's functions, called as a program calls them: queues with packets, signals, copies, code objects of the corpus; and what a
//! program may do wrong.

mod memory;
mod queues;
mod signals;
mod support;
