//! Containers: where code comes from.
