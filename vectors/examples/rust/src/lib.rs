//! The tests are in `tests/vectors.rs`; there is nothing else.
