//! The messages for the harness, written by the host so that the init need not understand them.

use menace_model::{Call, ModuleRef, Value};

use crate::wire::marshal::Writer;
use crate::wire::values;

/// `import`: the interpreter itself imports the module.
pub(crate) fn import(module: &ModuleRef, repo: &str, nonce: u64) -> Vec<u8> {
    let mut out = Writer::default();
    out.open_dict();
    entry(&mut out, "op", "import");
    entry(&mut out, "module", &module.name);
    path(&mut out, module, repo);
    out.str("nonce");
    out.unsigned(false, nonce);
    out.str("caps");
    out.none();
    out.close_dict();
    out.0
}

/// The call itself, for a fork of the interpreter.
pub(crate) fn call(call: &Call, repo: &str, nonce: u64) -> Vec<u8> {
    let mut out = Writer::default();
    out.open_dict();
    out.str("nonce");
    out.unsigned(false, nonce);
    out.str("target");
    out.open_dict();
    entry(&mut out, "module", &call.target.module.name);
    path(&mut out, &call.target.module, repo);
    entry(&mut out, "qualname", &call.target.qualname);
    entry(&mut out, "how", call.target.how.as_str());
    out.close_dict();
    out.str("receiver");
    match &call.receiver {
        Some(receiver) => values::write(&mut out, receiver),
        None => out.none(),
    }
    out.str("args");
    out.list(call.args.len());
    for value in &call.args {
        values::write(&mut out, value);
    }
    out.str("kwargs");
    out.list(call.kwargs.len());
    for (name, value) in &call.kwargs {
        out.list(2);
        out.str(name);
        values::write(&mut out, value);
    }
    out.str("seed");
    out.unsigned(false, call.seed);
    entry(&mut out, "cwd", repo);
    out.str("caps");
    out.none();
    out.str("plain");
    out.bool(call.receiver.is_none() && is_plain(call));
    out.close_dict();
    out.0
}

fn entry(out: &mut Writer, key: &str, text: &str) {
    out.str(key);
    out.str(text);
}

fn path(out: &mut Writer, module: &ModuleRef, repo: &str) {
    out.str("path");
    match &module.path {
        Some(path) => out.str(&format!("{repo}/{path}")),
        None => out.none(),
    }
}

/// Nothing has to be built from a description: the harness can take the arguments as they are.
fn is_plain(call: &Call) -> bool {
    let plain = |value: &Value| {
        matches!(
            value,
            Value::None
                | Value::Bool(_)
                | Value::Int(_)
                | Value::Float(_)
                | Value::Str(_)
                | Value::Bytes(_)
        )
    };
    call.args.iter().all(plain) && call.kwargs.iter().all(|(_, value)| plain(value))
}
