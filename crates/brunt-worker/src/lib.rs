//! The host agent and its workers: the gRPC service around the engine, host inspection and safety.
