//! Replay groups (`docs/vdbench/data.md` §5.1).

use super::{Draft, Parser};
use crate::ast::Rg;
use crate::diag::Diag;
use crate::keywords::Keyword;
use crate::source::Spanned;
use crate::values::{Value, whole};

impl Parser {
    /// A parameter of a replay group.
    pub(super) fn rg(&mut self, draft: &mut Draft<Rg>, keyword: &'static Keyword, value: Value<'_>) {
        if keyword.name != "devices" {
            return;
        }
        let Some(numbers) = value.numbers(&mut self.problems) else { return };
        let mut devices = Vec::with_capacity(numbers.value.len());
        for number in numbers.value {
            match whole(number.value.value) {
                Some(device) => devices.push(Spanned::new(device, number.span)),
                None => self.problems.bad_value("devices", number.span, &number.value.value.to_string(), "a number"),
            }
        }
        draft.value.devices = Some(Spanned::new(devices, numbers.span));
    }

    /// Ends a replay group.
    pub(super) fn finish_rg(&mut self, draft: Draft<Rg>) {
        if draft.value.devices.is_none() && draft.own.is_empty() {
            self.problems.push(
                Diag::error(
                    "no-devices",
                    format!("replay group `{}` has no `devices=`", draft.name.value),
                    draft.name.span,
                )
                .label("nothing to replay")
                .help(format!("write `rg={},devices=(1,2)` with device numbers of the trace", draft.name.value)),
            );
        }
        if draft.keep {
            self.file.rgs.push(draft.value);
        }
    }
}
