//! Reports as pure functions of the event stream: console, Vdbench's files, events.ndjson.
