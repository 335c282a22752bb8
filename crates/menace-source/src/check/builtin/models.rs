//! B614: `torch.load` unpickles the file. B615: a model or dataset from a hub without a fixed
//! revision can change at any time.

use super::call::CheckedCall;
use super::imports::ImportTable;
use super::literal::{ArgumentLiteral, is_constant};
use super::rule_match::FindingSink;

pub(super) fn check_torch_load(
    call: &CheckedCall<'_, '_>,
    imports: &ImportTable<'_>,
    sink: &mut FindingSink,
) {
    if matches!(call.qualified_name, "torch.load" | "torch.serialization.load")
        && imports.has("torch")
        && !call.keyword_value("weights_only").is_text("True")
    {
        let message = "`torch.load` can run code from the file; pass `weights_only=True`";
        sink.report("B614", call, message);
    }
}

pub(super) fn check_hub_download(
    call: &CheckedCall<'_, '_>,
    imports: &ImportTable<'_>,
    sink: &mut FindingSink,
) {
    let module = match call.name {
        "from_pretrained" => "transformers",
        "load_dataset" => "datasets",
        _ => "huggingface_hub",
    };
    let imported = ["transformers", "datasets", "huggingface_hub"]
        .iter()
        .any(|module| imports.mentions(module));
    if !imported || !call.has_part(module) || is_pinned(call) || is_local(call.arg(0)) {
        return;
    }
    let message = "downloads whatever the hub has today; pass `revision=` with a commit";
    sink.report("B615", call, message);
}

/// A revision that is computed counts as pinned, as does a commit id of seven digits or more.
fn is_pinned(call: &CheckedCall<'_, '_>) -> bool {
    let keywords = ["revision", "commit_id"];
    if keywords.iter().any(|name| call.keyword(name).is_some_and(|value| !is_constant(value))) {
        return true;
    }
    let revision = match call.keyword_value("revision") {
        value if value.is_falsy() => call.keyword_value("commit_id"),
        value => value,
    };
    revision.text().is_some_and(|revision| {
        let revision = revision.trim_matches(['"', '\'']);
        revision.len() >= 7 && revision.bytes().all(|digit| digit.is_ascii_hexdigit())
    })
}

fn is_local(source: ArgumentLiteral<'_>) -> bool {
    source.text().is_some_and(|path| ["./", "/", "../"].iter().any(|start| path.starts_with(start)))
}
