//! Text to words.
