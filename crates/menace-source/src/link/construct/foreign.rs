//! Knowledge about base classes from outside of the repository, by dotted name.

/// The effect of a foreign base on the constructor of its subclasses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ForeignBaseKind {
    Enum,
    /// The constructor takes the annotated fields of the class that directly has it as a base.
    NamedTuple,
    /// The constructor takes the annotated fields of the class and its bases, as keyword arguments.
    TypedDict,
    /// As `TypedDict`, with its own rules about names and defaults.
    Pydantic,
    /// It needs no arguments, and leaves the constructor to other bases.
    PassThrough,
    Unknown,
}

impl ForeignBaseKind {
    pub(super) fn from_name(name: &str) -> Self {
        match name.rsplit_once('.') {
            None | Some(("builtins", _)) => {
                Self::from_builtin(name.rsplit('.').next().unwrap_or(name))
            }
            Some(("enum", "Enum" | "IntEnum" | "StrEnum" | "Flag" | "IntFlag" | "ReprEnum")) => {
                Self::Enum
            }
            Some(("typing" | "typing_extensions", "NamedTuple")) => Self::NamedTuple,
            Some(("typing" | "typing_extensions", "TypedDict")) => Self::TypedDict,
            Some((
                "pydantic" | "pydantic.main" | "pydantic.v1" | "pydantic.generics"
                | "pydantic_settings",
                "BaseModel" | "GenericModel" | "BaseSettings",
            )) => Self::Pydantic,
            // Abstract all of them, or other names of builtin containers.
            Some(("abc", "ABC") | ("typing" | "typing_extensions" | "collections.abc", _)) => {
                Self::PassThrough
            }
            Some(_) => Self::Unknown,
        }
    }

    /// Whether Python treats this class specially.
    pub(super) fn is_special(name: &str) -> bool {
        matches!(Self::from_name(name), Self::Enum | Self::NamedTuple | Self::TypedDict)
            || matches!(name, "typing.Protocol" | "abc.ABC")
    }

    /// Whether it is an exception: by its name, unless it is a builtin.
    pub(super) fn is_exception(name: &str) -> bool {
        let last = name.rsplit('.').next().unwrap_or(name);
        ["Error", "Exception", "Warning"].iter().any(|end| last.ends_with(end))
            || matches!(
                name,
                "KeyboardInterrupt"
                    | "SystemExit"
                    | "GeneratorExit"
                    | "StopIteration"
                    | "StopAsyncIteration"
            )
    }

    fn from_builtin(name: &str) -> Self {
        let needs_nothing = match name {
            "object" | "dict" | "list" | "set" | "frozenset" | "tuple" | "str" | "int"
            | "float" | "complex" | "bytes" | "bytearray" | "KeyboardInterrupt" | "SystemExit"
            | "GeneratorExit" | "StopIteration" | "StopAsyncIteration" => true,
            // These three require details of the failed conversion as arguments.
            "UnicodeDecodeError" | "UnicodeEncodeError" | "UnicodeTranslateError" => false,
            _ => BUILTIN_ERROR_NAMES.binary_search(&name).is_ok(),
        };
        if needs_nothing { Self::PassThrough } else { Self::Unknown }
    }
}

/// The builtin exceptions whose names end like one; in order.
const BUILTIN_ERROR_NAMES: &[&str] = &menace_model::words![
    ArithmeticError AssertionError AttributeError BaseException BlockingIOError BrokenPipeError
    BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError
    ConnectionRefusedError ConnectionResetError DeprecationWarning EOFError EncodingWarning
    EnvironmentError Exception FileExistsError FileNotFoundError FloatingPointError FutureWarning
    IOError ImportError ImportWarning IndentationError IndexError InterruptedError
    IsADirectoryError KeyError LookupError MemoryError ModuleNotFoundError NameError
    NotADirectoryError NotImplementedError OSError OverflowError PendingDeprecationWarning
    PermissionError ProcessLookupError PythonFinalizationError RecursionError ReferenceError
    ResourceWarning RuntimeError RuntimeWarning SyntaxError SyntaxWarning SystemError TabError
    TimeoutError TypeError UnboundLocalError UnicodeError UnicodeWarning UserWarning ValueError
    Warning ZeroDivisionError
];
