"""The words of every message of the tracer, in one place.

A message is stored as its id and its parameters; the words are looked up when it is shown. An id
that ends in ``-hint`` is an advice shown behind a message.
"""

from __future__ import annotations

from typing import Final

from oneread.source.messages import MESSAGES as SOURCE_MESSAGES

_PREPROCESSOR: Final = {
    "define-name": "'{name}' is not a name that can be defined",
    "directive-unknown": "there is no directive #{name}",
    "did-you-mean-directive": "did you mean #{guess}?",
    "error-directive": "#error {text}",
    "macro-name": "the name of a macro should stand here",
    "macro-parameters": "the parameters of macro '{name}' should be names with commas between",
    "macro-open": "the arguments of macro '{name}' are never closed; ')' is missing",
    "macro-arguments": "macro '{name}' takes {wanted}, not {given}",
    "macro-depth": "macro '{name}' is expanded more than {limit} macros deep",
    "from-macro": "this comes from macro '{name}'",
    "too-many-tokens": "macros make more than {limit} tokens of this file",
    "include-depth": "include '{name}' is more than {limit} files deep",
    "include-many": "more than {limit} files are included",
    "if-malformed": "this condition is not integer arithmetic",
    "if-zero": "this condition divides by zero",
    "if-open": "this #{name} has no #endif",
    "if-lost": "this #{name} has no #if",
    "else-twice": "#{name} after #else",
}

_PARSER: Final = {
    "expected": "expected {what} before '{found}'",
    "expected-line": "expected {what} here",
    "expected-end": "expected {what}, but the file ends",
    "semicolon": "expected ';' after '{before}'",
    "nesting": "this is nested more than {limit} deep",
    "outside": "{what} is outside the subset of CUDA C that is traced",
    "outside-hint": "{instead}",
    "type-unknown": "unknown type '{name}'",
    "type-words": "'{words}' is no type",
    "type-as-value": "'{name}' is a type, not a value",
    "keyword": "'{name}' is no statement",
    "else-lost": "'else' without 'if'",
    "did-you-mean": "did you mean '{guess}'?",
}

_NAMES: Final = {
    "unknown": "'{name}' is not declared",
    "unknown-hint": "declare it, or define it with --define {name}=...",
    "twice": "'{name}' is declared twice in this scope",
    "function-unknown": "call to unknown function '{name}'",
    "function-hint": "write it as a __device__ function",
    "function-as-value": "'{name}' is a function; call it",
    "call-of-value": "'{name}' is not a function",
    "geometry": "'{name}' is used by its members: {name}.x, .y, .z",
    "member-unknown": "'{type}' has no member '{name}'",
    "members-hint": "it has {known}",
    "member-of-scalar": "'{member}' is asked of a value of type {type}, which has no members",
    "dot-of-pointer": "a pointer's member is reached with ->{member}",
    "arrow": "-> needs a pointer, not {type}",
    "declared-here": "'{name}' is declared here",
}

_TYPES: Final = {
    "convert": "{left} does not become {right} by itself",
    "cast-hint": "a cast would make it so",
    "drops-const": "{left} does not become {right}: what it points to is const",
    "drops-const-reference": "a reference to {type} cannot stand for what is const",
    "cast": "{left} cannot be cast to {right}",
    "operands": "operator {operator} does not take {left} and {right}",
    "sign": "operator {operator} does not take {type}",
    "choice": "the two sides of ?: have no common type: {left} and {right}",
    "condition": "a condition is true or false, which {type} is not",
    "subscript": "only arrays and pointers have elements, {type} has none",
    "index": "an index is an integer, not {type}",
    "star": "* needs a pointer, not {type}",
    "void-pointer": "nothing can be read through a pointer to void",
    "void-variable": "'{name}' cannot be of type void, nor of unknown length",
    "void-value": "this call returns nothing",
    "address": "& needs a variable or an element, not a value",
    "assign-value": "only a variable or an element can be assigned to",
    "assign-const": "{what} is const and cannot be changed",
    "assign-array": "an array cannot be assigned as a whole",
    "size-unknown": "{type} has no size",
    "limit": "std::numeric_limits<{type}>::{member}() is outside the subset",
    "number": "'{text}' is no number that C++ knows",
    "character": "{text} is no character of one byte",
    "braces-here": "braces are only understood as an initialiser",
    "reference": "a reference to {type} needs a variable of that type; only const takes a value",
}

_DECLARATIONS: Final = {
    "not-constant": "{what} has to be known at compile time",
    "not-constant-hint": "use a macro, constexpr or a template parameter",
    "not-integer": "{what} is an integer, not {type}",
    "array-length": "array '{name}' has length {length}; it needs 1 or more",
    "array-large": "array '{name}' has {size} bytes; at most {limit} are laid out",
    "array-value": "array '{name}' is set with braces only",
    "dimension-missing": "the length of this array is missing",
    "alignment": "alignment {align} is no power of two up to {limit}",
    "struct-empty": "struct '{name}' has no members",
    "member-flag": "{flag} has no meaning within a struct",
    "enum-base": "an enumeration is of integers, not {type}",
    "enum-value": "enumerator '{name}' does not fit its type: {value}",
    "static-assert": "static_assert failed{text}",
    "const-unset": "const '{name}' is never set",
    "too-many-values": "too many values for {type}: at most {limit}",
    "auto-here": "auto and references have no meaning here",
    "auto-unset": "auto '{name}' needs a value that shows its type",
    "auto-pointer": "auto* needs a pointer, not {type}",
    "reference-unset": "reference '{name}' needs a variable to stand for",
    "shared-set": "shared variable '{name}' cannot be set where it is declared",
    "shared-set-hint": "let one thread set it, then __syncthreads()",
    "shared-file": "shared memory is declared within a function here",
    "extern-shared": "extern __shared__ '{name}' is an array without a length",
    "file-variable": "'{name}' stands outside of functions and is no constant number",
    "file-variable-hint": "declare it in the kernel, or pass it to it",
}

_FUNCTIONS: Final = {
    "argument-count": "'{name}' takes {wanted}, not {given}",
    "no-overload": "no '{name}' takes ({given})",
    "no-overload-hint": "it takes {wanted}",
    "host-call": "'{name}' is a host function",
    "host-call-hint": "mark it __device__",
    "kernel-call": "'{name}' is a kernel; a kernel cannot call one",
    "used-before": "'{name}' is used before it is declared",
    "used-before-hint": "move it up, or announce it there",
    "no-body": "'{name}' is announced, but its body is nowhere",
    "return-missing": "a value of type {type} should be returned here",
    "no-return": "'{name}' should return a value and never does",
    "return-value": "this function returns nothing",
    "jump": "'{word}' is not within a loop",
    "kernel-returns": "a kernel returns void, not {type}",
    "kernel-reference": "a kernel cannot take a reference ('{name}'); pass a value or a pointer",
    "template-many": "template '{name}' has {wanted}, not {given}",
    "template-missing": "template argument '{parameter}' of '{name}' is not given",
    "template-kernel": "kernel '{name}' is a template; choose with --kernel '{name}<...>'",
    "template-type": "template argument '{name}' is a type",
    "template-number": "template argument '{name}' is a number",
    "template-kind": "a template parameter is a type or an integer, not {type}",
    "too-many-instances": "templates make more than {limit} functions",
    "kernel-word": "'{name}' is no word of CUDA C (did you mean '__global__'?)",
    "no-kernel": "there is no __global__ function in this file",
    "kernel-twice": "there is a second kernel '{name}'; which one is meant cannot be said",
    "which-kernel": "the file has several kernels; choose one with --kernel: {known}",
    "kernel-unknown": "there is no kernel '{name}' in this file; it has {known}",
    "kernel-unknown-guess": "there is no kernel '{name}' in this file; did you mean '{guess}'?",
    "stack": "the caller's stack leaves no room to read a file nested up to {limit} deep",
}

#: Every message by its id.
MESSAGES: Final[dict[str, str]] = {
    **SOURCE_MESSAGES,
    **_PREPROCESSOR,
    **_PARSER,
    **_NAMES,
    **_TYPES,
    **_DECLARATIONS,
    **_FUNCTIONS,
}
