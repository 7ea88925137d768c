//! `startcmd=` and `endcmd=` (`docs/vdbench/raw.md` §3).

use crate::ast::{Hook, HookOutput, HookTarget};
use crate::source::Spanned;
use crate::values::Value;

/// The commands, where they run, and where their output goes.
pub(super) fn hook(value: Value<'_>) -> Spanned<Hook> {
    let mut hook = Hook { commands: Vec::new(), output: HookOutput::Log, target: None };
    for (n, item) in value.param.items.iter().enumerate() {
        match item.text.as_str() {
            text if n == 0 => hook.commands.push(text.to_owned()),
            "master" => hook.target = Some(HookTarget::Master),
            "slave" => hook.target = Some(HookTarget::Slave),
            text => match output(text) {
                Some(output) => hook.output = output,
                None => hook.commands.push(text.to_owned()),
            },
        }
    }
    Spanned::new(hook, value.param.span)
}

fn output(text: &str) -> Option<HookOutput> {
    if text.contains(char::is_whitespace) {
        return None;
    }
    [("cons", HookOutput::Console), ("sum", HookOutput::Summary), ("log", HookOutput::Log)]
        .into_iter()
        .find(|(word, _)| text.starts_with(word))
        .map(|(_, output)| output)
}
