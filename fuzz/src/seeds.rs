//! Writes inputs for each target to begin with, below the directory that is named, from the
//! fixtures below another one.

use std::fs;
use std::path::{Path, PathBuf};

// What it is linked with counts branches.
use libfuzzer_sys as _;
use menace_sandbox::fuzzing::{sample_mailboxes, sample_report};

/// Texts that name what the targets look for.
const TEXTS: [(&str, &[&str]); 6] = [
    (
        "settings",
        &[
            "SCENARIO_NAME=x\nSECURITY_LEVEL=5\nMEMORY_LIMIT=\"64Mi\"\n",
            "OPENAI_BASE_URL=http://x/${KEY}\nexport A='b'\nSANDBOX_ENV_PRESETS=[{}]\n",
        ],
    ),
    (
        "yaml",
        &[
            "scenario_name: x\nsecurity_level: 5\nmemory_limit: 64Mi\n",
            "a: &a [x]\nsandbox_env_presets: '[{\"CPU_LIMIT\": 1}]'\nscenario_name: *a\n",
        ],
    ),
    ("environment", &["home = /usr/bin\ninclude-system-site-packages = true\nversion = 3.11.2\n"]),
    (
        "ignore",
        &[
            "*.pyc\n!keep.py\n/a/**/b\n[a-z]?\\ \n",
            "a\0gitdir: ./common\n\0../common\n",
            "x\0\0b\n",
        ],
    ),
    (
        "presets",
        &[
            "[{\"CPU_LIMIT\": \"2\", \"MEMORY_LIMIT\": \"64Mi\", \"FAILURE_MODES\": \"disk\"}]",
            "{\"profiles\": {\"x\": {\"levels\": {\"low\": {\"SECURITY_LEVEL\": 3}}}}}",
            "[{\"url\": \"/a\", \"method\": \"GET\", \"status\": 200, \"body\": \"x\"}]",
            "{\"section\": \"a:f\", \"args\": [1], \"kwargs\": {\"a\": null}}",
        ],
    ),
    (
        "history",
        &[
            "{\"roi_history\": [0.5, 0.25], \"module_deltas\": {\"a\": [0.1]}}",
            "profiles:\n  default:\n    weights: {profitability: 0.5}\n    \
             veto: {security: {min: 0}}",
            "templates:\n  slow: [0.1, 0.2]\nrisk: {slow: [0.1]}\n",
        ],
    ),
];

fn main() {
    let directories: Vec<PathBuf> = std::env::args().skip(1).map(PathBuf::from).collect();
    let [corpus, fixtures] = &directories[..] else { panic!("usage: seeds CORPUS FIXTURES") };
    let write = |target: &str, number: usize, bytes: &[u8]| {
        let directory = corpus.join(target);
        fs::create_dir_all(&directory).expect("the corpus is ours");
        fs::write(directory.join(format!("seed-{number}")), bytes).expect("the corpus is ours");
    };
    for (target, texts) in TEXTS {
        for (number, text) in texts.iter().enumerate() {
            write(target, number, text.as_bytes());
        }
    }
    for (number, sample) in sample_mailboxes().iter().enumerate() {
        write("mailbox", number, sample);
    }
    write("marshal", 0, &sample_report());
    let message = b"{u\x02\0\0\0opu\x06\0\0\0forkedu\x03\0\0\0pidi\x07\0\0\00";
    let length = (message.len() as u32).to_le_bytes();
    write("frame", 0, &[b"MNC1", &length[..], message].concat());
    let mut packet = vec![0_u8; 48];
    (packet[0], packet[9]) = (0x45, 17);
    write("packet", 0, &packet);
    (packet[0], packet[6]) = (0x60, 6);
    write("packet", 1, &packet);
    write("database", 0, b"\0nothing\0[1]");
    write("database", 1, &[1, 24, 0, 0, 255]);
    for (number, path) in files_below(fixtures).into_iter().enumerate() {
        let target = match path.extension().and_then(|extension| extension.to_str()) {
            Some("json" | "jsonl") => "history",
            Some("yaml" | "yml") => "yaml",
            Some("env") => "settings",
            _ => continue,
        };
        let bytes = fs::read(&path).expect("fixtures can be read");
        if bytes.len() <= 4096 {
            write(target, 100 + number, &bytes);
            if target == "history" {
                write("presets", 100 + number, &bytes);
            }
        }
    }
}

fn files_below(top: &Path) -> Vec<PathBuf> {
    let (mut files, mut waiting) = (Vec::new(), vec![top.to_owned()]);
    while let Some(directory) = waiting.pop() {
        for entry in fs::read_dir(directory).expect("fixtures can be read").flatten() {
            let path = entry.path();
            if path.is_dir() { waiting.push(path) } else { files.push(path) }
        }
    }
    files.sort();
    files
}
