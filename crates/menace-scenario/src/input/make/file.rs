//! Files for parameters that name them: there before the call, in the repository's directory.

use menace_model::{FixtureFile, Section, Value};

use super::Maker;
use crate::input::shape::PathWhat;
use crate::input::topic::words;

/// Where they are, relative to the working directory of the call.
const FOLDER: &str = "menace-input";

/// What the section does with files decides what is in them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum Content {
    #[default]
    Text,
    Json,
    JsonLines,
    Csv,
    Ini,
    Toml,
    Xml,
    Yaml,
    Python,
    Html,
    Binary,
    Zip,
    Tar,
    Gzip,
    Wav,
}

impl Content {
    /// By what the section calls, then by its name, its parameters' and its file's.
    pub(crate) fn of(section: &Section) -> Self {
        let calls = section.calls.iter().map(|call| call.target.as_str());
        let by_call = calls.into_iter().find_map(|target| {
            Some(match target.split('.').next()? {
                "json" => Self::Json,
                "csv" => Self::Csv,
                "configparser" => Self::Ini,
                "tomllib" | "toml" | "tomli" => Self::Toml,
                "xml" | "lxml" => Self::Xml,
                "yaml" => Self::Yaml,
                "ast" | "tokenize" | "importlib" => Self::Python,
                "zipfile" => Self::Zip,
                "tarfile" => Self::Tar,
                "gzip" => Self::Gzip,
                "wave" => Self::Wav,
                "pickle" | "struct" => Self::Binary,
                _ => return None,
            })
        });
        let qualname = section.id.qualname();
        let names = section.params.iter().map(|param| param.name.as_str()).chain([qualname]);
        let file = section.id.as_str().strip_suffix(qualname).unwrap_or_default();
        let by_name = names.chain([file]).flat_map(words).find_map(|word| Self::by_word(&word));
        // What is made of structures is no structure of its own.
        by_name
            .filter(|_| matches!(by_call, None | Some(Self::Binary)))
            .or(by_call)
            .unwrap_or_default()
    }

    fn by_word(word: &str) -> Option<Self> {
        Some(match word {
            "json" => Self::Json,
            "jsonl" | "ndjson" => Self::JsonLines,
            "csv" | "tsv" => Self::Csv,
            "ini" | "cfg" | "config" | "configparser" => Self::Ini,
            "toml" => Self::Toml,
            "xml" => Self::Xml,
            "yaml" | "yml" => Self::Yaml,
            "html" | "htm" => Self::Html,
            "zip" | "zipfile" => Self::Zip,
            "tar" | "tarfile" => Self::Tar,
            "gz" | "gzip" => Self::Gzip,
            "wav" | "wave" => Self::Wav,
            _ => return None,
        })
    }

    fn extension(self) -> &'static str {
        match self {
            Self::Text => "txt",
            Self::Json => "json",
            Self::JsonLines => "jsonl",
            Self::Csv => "csv",
            Self::Ini => "ini",
            Self::Toml => "toml",
            Self::Xml => "xml",
            Self::Yaml => "yaml",
            Self::Python => "py",
            Self::Html => "html",
            Self::Binary => "bin",
            Self::Zip => "zip",
            Self::Tar => "tar",
            Self::Gzip => "gz",
            Self::Wav => "wav",
        }
    }

    pub(crate) fn bytes(self) -> &'static [u8] {
        match self {
            Self::Text => b"first line\nsecond line\nthird line\n",
            Self::Json => b"{\"name\": \"Ada\", \"age\": 36, \"tags\": [\"a\", \"b\"]}\n",
            Self::JsonLines => {
                b"{\"id\": 1, \"name\": \"Ada\"}\n{\"id\": 2, \"name\": \"Grace\"}\n"
            }
            Self::Csv => b"id,name,age\n1,Ada,36\n2,Grace,85\n",
            Self::Ini => b"[section]\noption = value\nnumber = 3\n",
            Self::Toml => b"title = \"example\"\n[section]\nnumber = 3\n",
            Self::Xml => b"<root id=\"1\"><item name=\"a\">text</item></root>\n",
            Self::Yaml => b"name: Ada\ntags:\n  - a\n  - b\n",
            Self::Python => b"def f(x):\n    return x + 1\n",
            Self::Html => b"<html><body><p>Hello</p></body></html>\n",
            Self::Binary => b"\x00\x01\x02\xffdata",
            Self::Zip => include_bytes!("../data/files/sample.zip"),
            Self::Tar => include_bytes!("../data/files/sample.tar"),
            Self::Gzip => include_bytes!("../data/files/sample.gz"),
            Self::Wav => include_bytes!("../data/files/sample.wav"),
        }
    }
}

impl Maker<'_, '_> {
    /// A name in the file system, with what it needs to be there.
    pub(crate) fn path(&mut self, what: PathWhat, is_text: bool, name: &str) -> Value {
        let word = words(name).pop().filter(|word| word.is_ascii()).unwrap_or("data".to_owned());
        let word = if self.turn == 0 { word } else { format!("{word}{}", self.turn + 1) };
        let content = self.content;
        let path = match what {
            PathWhat::File => {
                let path = format!("{FOLDER}/{word}.{}", content.extension());
                self.file(&path, content.bytes());
                path
            }
            PathWhat::Directory => {
                let path = format!("{FOLDER}/{word}");
                self.file(&format!("{path}/one.{}", content.extension()), content.bytes());
                self.file(&format!("{path}/two.txt"), b"two\n");
                path
            }
            PathWhat::New => {
                // So that the directory is there.
                self.file(&format!("{FOLDER}/neighbour.txt"), b"neighbour\n");
                format!("{FOLDER}/new-{word}.{}", content.extension())
            }
        };
        if is_text {
            Value::from(path)
        } else {
            super::new("pathlib:Path", vec![Value::from(path)])
        }
    }

    /// An open file with what the section expects in files; none when any will do.
    pub(super) fn stream(&mut self, class: &str) -> Option<Value> {
        let content = self.content;
        if self.turn > 0 || matches!(content, Content::Text | Content::Binary) {
            return None;
        }
        let bytes = content.bytes();
        match class {
            "io.BytesIO" => Some(super::new("io:BytesIO", vec![Value::Bytes(bytes.to_vec())])),
            // What is no text was never meant to be read as such.
            "io.StringIO"
                if matches!(
                    content,
                    Content::Zip | Content::Tar | Content::Gzip | Content::Wav
                ) =>
            {
                Some(super::new("io:BytesIO", vec![Value::Bytes(bytes.to_vec())]))
            }
            "io.StringIO" => {
                let text = std::str::from_utf8(bytes).ok()?;
                Some(super::new("io:StringIO", vec![Value::from(text)]))
            }
            _ => None,
        }
    }

    fn file(&mut self, path: &str, content: &[u8]) {
        if self.files.iter().all(|file| file.path != path) {
            self.files.push(FixtureFile { path: path.to_owned(), content: content.to_vec() });
        }
    }
}
