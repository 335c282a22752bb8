//! B301–B323: functions that are dangerous by name.
//!
//! A module asked for by `__import__` or `importlib.import_module` is one of those of
//! [`denied_imports`](super::denied_imports).

use std::sync::LazyLock;

use menace_model::Confidence;
use menace_model::Severity::{self, High, Low, Medium};
use rustc_hash::FxHashMap;

use super::call::Call;
use super::denied_imports;
use super::hit::Sink;
use super::literal::string;

/// One rule and the full names it is about.
#[derive(Debug)]
pub(super) struct Denied {
    pub(super) rule: &'static str,
    pub(super) severity: Severity,
    pub(super) message: &'static str,
    pub(super) names: &'static [&'static str],
}

pub(super) const XML: &str = "this XML parser can be attacked with crafted data; use `defusedxml`";

const CALLS: &[Denied] = &[
    Denied {
        rule: "B301",
        severity: Medium,
        message: "unpickling can run any code that the data asks for",
        names: &[
            "pickle.loads",
            "pickle.load",
            "pickle.Unpickler",
            "dill.loads",
            "dill.load",
            "dill.Unpickler",
            "shelve.open",
            "shelve.DbfilenameShelf",
            "jsonpickle.decode",
            "jsonpickle.unpickler.decode",
            "jsonpickle.unpickler.Unpickler",
            "pandas.read_pickle",
        ],
    },
    Denied {
        rule: "B302",
        severity: Medium,
        message: "`marshal` must not read data from others",
        names: &["marshal.load", "marshal.loads"],
    },
    Denied {
        rule: "B303",
        severity: Medium,
        message: "this hash function is broken",
        names: &[
            "Crypto.Hash.MD2.new",
            "Crypto.Hash.MD4.new",
            "Crypto.Hash.MD5.new",
            "Crypto.Hash.SHA.new",
            "Cryptodome.Hash.MD2.new",
            "Cryptodome.Hash.MD4.new",
            "Cryptodome.Hash.MD5.new",
            "Cryptodome.Hash.SHA.new",
            "cryptography.hazmat.primitives.hashes.MD5",
            "cryptography.hazmat.primitives.hashes.SHA1",
        ],
    },
    Denied {
        rule: "B304",
        severity: High,
        message: "this cipher is broken; use AES",
        names: &[
            "Crypto.Cipher.ARC2.new",
            "Crypto.Cipher.ARC4.new",
            "Crypto.Cipher.Blowfish.new",
            "Crypto.Cipher.DES.new",
            "Crypto.Cipher.XOR.new",
            "Cryptodome.Cipher.ARC2.new",
            "Cryptodome.Cipher.ARC4.new",
            "Cryptodome.Cipher.Blowfish.new",
            "Cryptodome.Cipher.DES.new",
            "Cryptodome.Cipher.XOR.new",
            "cryptography.hazmat.primitives.ciphers.algorithms.ARC4",
            "cryptography.hazmat.primitives.ciphers.algorithms.Blowfish",
            "cryptography.hazmat.primitives.ciphers.algorithms.CAST5",
            "cryptography.hazmat.primitives.ciphers.algorithms.IDEA",
            "cryptography.hazmat.primitives.ciphers.algorithms.SEED",
            "cryptography.hazmat.primitives.ciphers.algorithms.TripleDES",
        ],
    },
    Denied {
        rule: "B305",
        severity: Medium,
        message: "ECB mode shows the pattern of what it encrypts",
        names: &["cryptography.hazmat.primitives.ciphers.modes.ECB"],
    },
    Denied {
        rule: "B306",
        severity: Medium,
        message: "`mktemp` leaves time for another to take the name; use `mkstemp`",
        names: &["tempfile.mktemp"],
    },
    Denied {
        rule: "B307",
        severity: Medium,
        message: "`eval` runs the text it is given as code; `ast.literal_eval` does not",
        names: &["eval"],
    },
    Denied {
        rule: "B308",
        severity: Medium,
        message: "`mark_safe` switches escaping off",
        names: &["django.utils.safestring.mark_safe"],
    },
    Denied {
        rule: "B310",
        severity: Medium,
        message: "opens `file:` and other schemes too; check the address first",
        names: &[
            "urllib.request.urlopen",
            "urllib.request.urlretrieve",
            "urllib.request.URLopener",
            "urllib.request.FancyURLopener",
            "six.moves.urllib.request.urlopen",
            "six.moves.urllib.request.urlretrieve",
            "six.moves.urllib.request.URLopener",
            "six.moves.urllib.request.FancyURLopener",
        ],
    },
    Denied {
        rule: "B311",
        severity: Low,
        message: "`random` can be foretold; use `secrets` where that matters",
        names: &[
            "random.Random",
            "random.random",
            "random.randrange",
            "random.randint",
            "random.choice",
            "random.choices",
            "random.uniform",
            "random.triangular",
            "random.randbytes",
            "random.sample",
            "random.getrandbits",
        ],
    },
    Denied {
        rule: "B312",
        severity: High,
        message: "Telnet sends everything in the clear",
        names: &["telnetlib.Telnet"],
    },
    Denied {
        rule: "B313",
        severity: Medium,
        message: XML,
        names: &[
            "xml.etree.cElementTree.parse",
            "xml.etree.cElementTree.iterparse",
            "xml.etree.cElementTree.fromstring",
            "xml.etree.cElementTree.XMLParser",
        ],
    },
    Denied {
        rule: "B314",
        severity: Medium,
        message: XML,
        names: &[
            "xml.etree.ElementTree.parse",
            "xml.etree.ElementTree.iterparse",
            "xml.etree.ElementTree.fromstring",
            "xml.etree.ElementTree.XMLParser",
        ],
    },
    Denied {
        rule: "B315",
        severity: Medium,
        message: XML,
        names: &["xml.sax.expatreader.create_parser"],
    },
    Denied {
        rule: "B316",
        severity: Medium,
        message: XML,
        names: &["xml.dom.expatbuilder.parse", "xml.dom.expatbuilder.parseString"],
    },
    Denied {
        rule: "B317",
        severity: Medium,
        message: XML,
        names: &["xml.sax.parse", "xml.sax.parseString", "xml.sax.make_parser"],
    },
    Denied {
        rule: "B318",
        severity: Medium,
        message: XML,
        names: &["xml.dom.minidom.parse", "xml.dom.minidom.parseString"],
    },
    Denied {
        rule: "B319",
        severity: Medium,
        message: XML,
        names: &["xml.dom.pulldom.parse", "xml.dom.pulldom.parseString"],
    },
    Denied {
        rule: "B321",
        severity: High,
        message: "FTP sends everything in the clear",
        names: &["ftplib.FTP"],
    },
    Denied {
        rule: "B323",
        severity: Medium,
        message: "this context accepts the certificate of any server",
        names: &["ssl._create_unverified_context"],
    },
];

/// Both kinds by name: Bandit also reports a call of something named as a denied module.
static BY_NAME: LazyLock<FxHashMap<&'static str, &'static Denied>> = LazyLock::new(|| {
    let all = CALLS.iter().chain(denied_imports::MODULES);
    all.flat_map(|denied| denied.names.iter().map(move |name| (*name, denied))).collect()
});

pub(super) fn check(call: &Call<'_, '_>, sink: &mut Sink) {
    let name = match call.qualified {
        "importlib.import_module" | "importlib.__import__" => match call.args() {
            [] => call.keyword_value("name").text(),
            _ => call.arg(0).text(),
        },
        "__import__" => call.args().first().and_then(string),
        qualified => Some(qualified),
    };
    if let Some(denied) = name.and_then(|name| BY_NAME.get(name)) {
        sink.report(denied.rule, (denied.severity, Confidence::High), call.range(), denied.message);
    }
}
