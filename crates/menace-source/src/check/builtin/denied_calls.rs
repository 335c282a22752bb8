//! B301–B323: functions that are dangerous by name.
//!
//! A module imported by `__import__` or `importlib.import_module` is checked by the rules of
//! [`super::denied_imports`].

use std::sync::LazyLock;

use rustc_hash::FxHashMap;

use super::call::CheckedCall;
use super::denied_imports;
use super::literal::string_value;
use super::rule_match::FindingSink;

/// One rule, and the full names that it reports.
#[derive(Debug)]
pub(super) struct DeniedNamesRule {
    pub(super) rule: &'static str,
    pub(super) message: &'static str,
    names: &'static str,
}

impl DeniedNamesRule {
    pub(super) fn names(&self) -> impl Iterator<Item = &'static str> {
        self.names.split_ascii_whitespace()
    }
}

/// A row of the tables; `names` are separated by spaces.
pub(super) const fn deny(
    rule: &'static str,
    message: &'static str,
    names: &'static str,
) -> DeniedNamesRule {
    DeniedNamesRule { rule, message, names }
}

pub(super) const XML_PARSER_MESSAGE: &str =
    "this XML parser can be attacked with crafted data; use `defusedxml`";

const DENIED_CALLS: &[DeniedNamesRule] = &[
    deny(
        "B301",
        "unpickling can run any code that the data asks for",
        "pickle.loads pickle.load pickle.Unpickler dill.loads dill.load dill.Unpickler \
         shelve.open shelve.DbfilenameShelf jsonpickle.decode jsonpickle.unpickler.decode \
         jsonpickle.unpickler.Unpickler pandas.read_pickle",
    ),
    deny("B302", "`marshal` must not read data from others", "marshal.load marshal.loads"),
    deny(
        "B303",
        "this hash function is broken",
        "Crypto.Hash.MD2.new Crypto.Hash.MD4.new Crypto.Hash.MD5.new Crypto.Hash.SHA.new \
         Cryptodome.Hash.MD2.new Cryptodome.Hash.MD4.new Cryptodome.Hash.MD5.new \
         Cryptodome.Hash.SHA.new cryptography.hazmat.primitives.hashes.MD5 \
         cryptography.hazmat.primitives.hashes.SHA1",
    ),
    deny(
        "B304",
        "this cipher is broken; use AES",
        "Crypto.Cipher.ARC2.new Crypto.Cipher.ARC4.new Crypto.Cipher.Blowfish.new \
         Crypto.Cipher.DES.new Crypto.Cipher.XOR.new Cryptodome.Cipher.ARC2.new \
         Cryptodome.Cipher.ARC4.new Cryptodome.Cipher.Blowfish.new \
         Cryptodome.Cipher.DES.new Cryptodome.Cipher.XOR.new \
         cryptography.hazmat.primitives.ciphers.algorithms.ARC4 \
         cryptography.hazmat.primitives.ciphers.algorithms.Blowfish \
         cryptography.hazmat.primitives.ciphers.algorithms.CAST5 \
         cryptography.hazmat.primitives.ciphers.algorithms.IDEA \
         cryptography.hazmat.primitives.ciphers.algorithms.SEED \
         cryptography.hazmat.primitives.ciphers.algorithms.TripleDES",
    ),
    deny(
        "B305",
        "ECB mode shows the pattern of what it encrypts",
        "cryptography.hazmat.primitives.ciphers.modes.ECB",
    ),
    deny(
        "B306",
        "`mktemp` leaves time for another to take the name; use `mkstemp`",
        "tempfile.mktemp",
    ),
    deny("B307", "`eval` runs the text it is given as code; `ast.literal_eval` does not", "eval"),
    deny("B308", "`mark_safe` switches escaping off", "django.utils.safestring.mark_safe"),
    deny(
        "B310",
        "opens `file:` and other schemes too; check the address first",
        "urllib.request.urlopen urllib.request.urlretrieve urllib.request.URLopener \
         urllib.request.FancyURLopener six.moves.urllib.request.urlopen \
         six.moves.urllib.request.urlretrieve six.moves.urllib.request.URLopener \
         six.moves.urllib.request.FancyURLopener",
    ),
    deny(
        "B311",
        "`random` can be foretold; use `secrets` where that matters",
        "random.Random random.random random.randrange random.randint random.choice \
         random.choices random.uniform random.triangular random.randbytes random.sample \
         random.getrandbits",
    ),
    deny("B312", "Telnet sends everything in the clear", "telnetlib.Telnet"),
    deny(
        "B313",
        XML_PARSER_MESSAGE,
        "xml.etree.cElementTree.parse xml.etree.cElementTree.iterparse \
         xml.etree.cElementTree.fromstring xml.etree.cElementTree.XMLParser",
    ),
    deny(
        "B314",
        XML_PARSER_MESSAGE,
        "xml.etree.ElementTree.parse xml.etree.ElementTree.iterparse \
         xml.etree.ElementTree.fromstring xml.etree.ElementTree.XMLParser",
    ),
    deny("B315", XML_PARSER_MESSAGE, "xml.sax.expatreader.create_parser"),
    deny("B316", XML_PARSER_MESSAGE, "xml.dom.expatbuilder.parse xml.dom.expatbuilder.parseString"),
    deny("B317", XML_PARSER_MESSAGE, "xml.sax.parse xml.sax.parseString xml.sax.make_parser"),
    deny("B318", XML_PARSER_MESSAGE, "xml.dom.minidom.parse xml.dom.minidom.parseString"),
    deny("B319", XML_PARSER_MESSAGE, "xml.dom.pulldom.parse xml.dom.pulldom.parseString"),
    deny("B321", "FTP sends everything in the clear", "ftplib.FTP"),
    deny(
        "B323",
        "this context accepts the certificate of any server",
        "ssl._create_unverified_context",
    ),
];

/// Denied calls and imports by name: Bandit also reports a call of a name that equals a denied
/// module.
static DENIED_RULES_BY_NAME: LazyLock<FxHashMap<&'static str, &'static DeniedNamesRule>> =
    LazyLock::new(|| {
        let all = DENIED_CALLS.iter().chain(denied_imports::DENIED_MODULES);
        all.flat_map(|denied| denied.names().map(move |name| (name, denied))).collect()
    });

pub(super) fn check(call: &CheckedCall<'_, '_>, sink: &mut FindingSink) {
    let name = match call.qualified_name {
        "importlib.import_module" | "importlib.__import__" => match call.args() {
            [] => call.keyword_value("name").text(),
            _ => call.arg(0).text(),
        },
        "__import__" => call.args().first().and_then(string_value),
        qualified => Some(qualified),
    };
    if let Some(denied) = name.and_then(|name| DENIED_RULES_BY_NAME.get(name)) {
        sink.report(denied.rule, call, denied.message);
    }
}
