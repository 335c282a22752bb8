//! Files that path parameters refer to: they exist before the call, in the repository's directory.

use menace_model::{FixtureFile, Section, Value};

use super::ValueMaker;
use crate::input::name_topics::split_words;
use crate::input::shape::PathKind;

/// Directory of the files, relative to the working directory of the call.
const INPUT_DIRECTORY: &str = "menace-input";

/// The content of generated files, which depends on what the section does with files.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum FileContentKind {
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

impl FileContentKind {
    /// Chosen by the callees of the section, then by its name, its parameters and its file.
    pub(crate) fn for_section(section: &Section) -> Self {
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
        let by_name =
            names.chain([file]).flat_map(split_words).find_map(|word| Self::from_word(&word));
        // `pickle` and `struct` are only used if no name tells a format.
        by_name
            .filter(|_| matches!(by_call, None | Some(Self::Binary)))
            .or(by_call)
            .unwrap_or_default()
    }

    fn from_word(word: &str) -> Option<Self> {
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

    pub(crate) fn sample_bytes(self) -> &'static [u8] {
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

impl ValueMaker<'_, '_> {
    /// A path, with the files that it needs.
    pub(crate) fn make_path(&mut self, what: PathKind, is_text: bool, name: &str) -> Value {
        let word =
            split_words(name).pop().filter(|word| word.is_ascii()).unwrap_or("data".to_owned());
        let word = if self.turn == 0 { word } else { format!("{word}{}", self.turn + 1) };
        let content = self.content;
        let path = match what {
            PathKind::File => {
                let path = format!("{INPUT_DIRECTORY}/{word}.{}", content.extension());
                self.add_file(&path, content.sample_bytes());
                path
            }
            PathKind::Directory => {
                let path = format!("{INPUT_DIRECTORY}/{word}");
                self.add_file(
                    &format!("{path}/one.{}", content.extension()),
                    content.sample_bytes(),
                );
                self.add_file(&format!("{path}/two.txt"), b"two\n");
                path
            }
            PathKind::New => {
                // Creates the directory.
                self.add_file(&format!("{INPUT_DIRECTORY}/neighbour.txt"), b"neighbour\n");
                format!("{INPUT_DIRECTORY}/new-{word}.{}", content.extension())
            }
        };
        if is_text {
            Value::from(path)
        } else {
            super::construct_by_name("pathlib:Path", vec![Value::from(path)])
        }
    }

    /// An open file with the content that the section expects; none when any content fits.
    pub(super) fn make_stream(&mut self, class: &str) -> Option<Value> {
        let content = self.content;
        if self.turn > 0 || matches!(content, FileContentKind::Text | FileContentKind::Binary) {
            return None;
        }
        let bytes = content.sample_bytes();
        match class {
            "io.BytesIO" => {
                Some(super::construct_by_name("io:BytesIO", vec![Value::Bytes(bytes.to_vec())]))
            }
            // These formats are binary.
            "io.StringIO"
                if matches!(
                    content,
                    FileContentKind::Zip
                        | FileContentKind::Tar
                        | FileContentKind::Gzip
                        | FileContentKind::Wav
                ) =>
            {
                Some(super::construct_by_name("io:BytesIO", vec![Value::Bytes(bytes.to_vec())]))
            }
            "io.StringIO" => {
                let text = std::str::from_utf8(bytes).ok()?;
                Some(super::construct_by_name("io:StringIO", vec![Value::from(text)]))
            }
            _ => None,
        }
    }

    fn add_file(&mut self, path: &str, content: &[u8]) {
        if self.files.iter().all(|file| file.path != path) {
            self.files.push(FixtureFile { path: path.to_owned(), content: content.to_vec() });
        }
    }
}
