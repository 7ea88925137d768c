//! Conversions between messages and domain types, one file per family.

pub(crate) mod event;
mod lun;
mod own_error;
mod sample;
mod share;
mod sight;

/// Converts all of a list, or stops at the first error.
fn all<A, B: TryFrom<A>>(items: Vec<A>) -> Result<Vec<B>, B::Error> {
    items.into_iter().map(B::try_from).collect()
}

/// Converts all of a list.
fn each<A, B: From<A>>(items: Vec<A>) -> Vec<B> {
    items.into_iter().map(B::from).collect()
}
