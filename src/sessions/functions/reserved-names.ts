/** Python's keywords. */
const keywords = new Set(
  `
  False None True and as assert async await break class continue def del elif else except finally for from global
  if import in is lambda nonlocal not or pass raise return try while with yield
`
    .trim()
    .split(/\s+/),
);

/** Python's built-in names, and those that the kernel adds. A host function never replaces one. */
const builtins = new Set(
  `
  ArithmeticError AssertionError AttributeError BaseException BaseExceptionGroup BlockingIOError BrokenPipeError
  BufferError BytesWarning ChildProcessError ConnectionAbortedError ConnectionError ConnectionRefusedError
  ConnectionResetError DeprecationWarning EOFError Ellipsis EncodingWarning EnvironmentError Exception
  ExceptionGroup False FileExistsError FileNotFoundError FloatingPointError FutureWarning GeneratorExit IOError
  ImportError ImportWarning IndentationError IndexError InterruptedError IsADirectoryError KeyError
  KeyboardInterrupt LookupError MemoryError ModuleNotFoundError NameError None NotADirectoryError NotImplemented
  NotImplementedError OSError OverflowError PendingDeprecationWarning PermissionError ProcessLookupError
  PythonFinalizationError RecursionError ReferenceError ResourceWarning RuntimeError RuntimeWarning
  StopAsyncIteration StopIteration SyntaxError SyntaxWarning SystemError SystemExit TabError TimeoutError True
  TypeError UnboundLocalError UnicodeDecodeError UnicodeEncodeError UnicodeError UnicodeTranslateError
  UnicodeWarning UserWarning ValueError Warning ZeroDivisionError _IncompleteInputError __build_class__ __debug__
  __doc__ __import__ __loader__ __name__ __package__ __spec__ abs aiter all anext any ascii bin bool breakpoint
  bytearray bytes callable chr classmethod compile complex copyright credits delattr dict dir divmod enumerate
  eval exec exit filter float format frozenset getattr globals hasattr hash help hex id input int isinstance
  issubclass iter len license list locals map max memoryview min next object oct open ord pow print property quit
  range repr reversed round set setattr slice sorted staticmethod str sum super tuple type vars zip
  display
`
    .trim()
    .split(/\s+/),
);

/** Whether Python itself uses the name. A parameter may have the name of a builtin, such as `id`. */
export function isReservedName(name: string, what: "function" | "parameter" = "function"): boolean {
  return keywords.has(name) || (what === "function" && builtins.has(name));
}
