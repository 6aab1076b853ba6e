//! Launches guest programs: memory, scheduling, faults, tiers.
