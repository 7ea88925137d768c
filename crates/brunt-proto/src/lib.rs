//! The wire protocol between master and agents, and conversions to the domain types.
