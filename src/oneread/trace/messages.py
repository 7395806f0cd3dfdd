"""The words of every message of the tracer, in one place.

`MESSAGES` are those of the front end, `FAULTS` what a run finds. A message is stored as its id and
its parameters; the words are looked up when it is shown. An id that ends in ``-hint`` is an advice
shown behind a message.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

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
    "macro-depth": "macro '{name}' is expanded more than {limit} macros deep (macro_depth)",
    "from-macro": "this comes from macro '{name}'",
    "too-many-tokens": "macros make more than {limit} tokens of this file (tokens)",
    "include-depth": "include '{name}' is more than {limit} files deep (include_depth)",
    "include-many": "more than {limit} files are included (files)",
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
    "errors-many": "no more than {limit} errors are shown (errors)",
    "nesting": "this is nested more than {limit} deep (nesting)",
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
    "unknown-hint": "declare it, or define a macro {name}",
    "twice": "'{name}' is declared twice in this scope",
    "function-unknown": "call to unknown function '{name}'",
    "function-hint": "write it as a __device__ function",
    "header-hint": "{header} was not found: say its folder with -I",
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
    "cast-form": "{left} cannot be cast to {right} by {form}",
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
    "struct-large": "struct '{name}' has {size} bytes; at most {limit} are laid out",
    "struct-members": "struct '{name}' has more than {limit} members, those within them included",
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
    "function-twice": "'{name}' has a second body for the same parameters",
    "no-body": "'{name}' is announced, but its body is nowhere",
    "return-missing": "a value of type {type} should be returned here",
    "no-return": "'{name}' should return a value and never does",
    "return-value": "this function returns nothing",
    "jump": "'{word}' is not within a loop",
    "kernel-returns": "a kernel returns void, not {type}",
    "parameter-name": "a kernel's parameter needs a name, by which it is given its argument",
    "kernel-reference": "a kernel cannot take a reference ('{name}'); pass a value or a pointer",
    "template-many": "template '{name}' has {wanted}, not {given}",
    "template-conflict": "'{parameter}' of '{name}' is {one} by one argument, {other} by another",
    "template-missing": "template argument '{parameter}' of '{name}' is not given",
    "template-kernel": "kernel '{name}' is a template; name it with arguments: {name}<...>",
    "template-type": "template argument '{name}' is a type",
    "template-number": "template argument '{name}' is a number",
    "template-kind": "a template parameter is a type or an integer, not {type}",
    "too-many-instances": "templates make more than {limit} functions (instances)",
    "word": "'{name}' is no word of CUDA C",
    "no-kernel": "there is no __global__ function in this file",
    "kernel-twice": "there is a second kernel '{name}'; which one is meant cannot be said",
    "which-kernel": "the file has several kernels; name one: {known}",
    "kernel-unknown": "there is no kernel '{name}' in this file; it has {known}",
    "kernel-unknown-guess": "there is no kernel '{name}' in this file; did you mean '{guess}'?",
    "stack": "the caller's stack leaves no room to read a file nested up to {limit} deep (nesting)",
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

#: Severities, worst first. ``error``: undefined behaviour or a wrong result in this launch;
#: ``warning``: a hazard that this launch hides; ``note``: cost, or a fault of other launches.
SEVERITIES: Final = ("error", "warning", "note")


class FaultText(NamedTuple):
    """What is known of one kind of fault."""

    severity: str
    title: str
    text: str


#: Who met a fault.
_LANES: Final = " (block {block}, warp {warp}, lanes: {lanes})"
_LANE: Final = " (block {block}, warp {warp}, lane {lane})"

FAULTS: Final[dict[str, FaultText]] = {
    "race-warps": FaultText(
        "error",
        "race between warps",
        "{hazard} on {buffer}[{index}]: thread {first_thread} {first_verb} it in line {with_line}, "
        "thread {thread} {verb} it in line {line}, and no barrier lies between",
    ),
    "race-blocks": FaultText(
        "error",
        "race between blocks",
        "{hazard} on {buffer}[{index}]: block {first_block} {first_verb} it in line {with_line}, "
        "block {block} {verb} it in line {line}; nothing orders blocks of one launch",
    ),
    "race-warp": FaultText(
        "warning",
        "hazard within a warp",
        "{hazard} on {buffer}[{index}]: lane {first_lane} {first_verb} it in line {with_line}, "
        "lane {lane} {verb} it in line {line}; lanes of a warp need __syncwarp() between them",
    ),
    "race-lanes": FaultText(
        "warning",
        "lanes store to one address",
        "line {line}: lanes {first_lane} and {lane} store different values to {buffer}[{index}] "
        "at once; which one stays is not defined",
    ),
    "race-same-value": FaultText(
        "note",
        "same value stored twice",
        "threads {first_thread} and {thread} store the same value to {buffer}[{index}] with "
        "nothing between, lines {with_line} and {line}",
    ),
    "barrier-divergence": FaultText(
        "error",
        "barrier in a branch",
        "only {arrived} of {live} live threads of warp {warp} reach __syncthreads() in line {line}",
    ),
    "barrier-lines": FaultText(
        "error",
        "warps at different barriers",
        "warp {first_warp} waits at __syncthreads() in line {with_line} while warp {warp} waits at "
        "the one in line {line}",
    ),
    "barrier-exited": FaultText(
        "note",
        "barrier after some warps have left",
        "warps wait at __syncthreads() in line {line} that warp {warp} left the kernel without",
    ),
    "barrier-idle": FaultText(
        "note",
        "barrier that orders nothing",
        "no thread touched shared memory of another before and after __syncthreads() in line "
        "{line}; this launch does not need it",
    ),
    "syncwarp-absent": FaultText(
        "error",
        "lanes absent from __syncwarp",
        "__syncwarp() in line {line} names lanes {absent} that do not reach it",
    ),
    "shuffle-mask": FaultText(
        "error",
        "lane not named in its mask",
        "{name} in line {line} is reached by lanes {unnamed} that its mask {mask} does not name",
    ),
    "shuffle-absent": FaultText(
        "error",
        "lanes absent from a warp operation",
        "{name} in line {line} names lanes {absent} that do not reach it",
    ),
    "shuffle-inactive": FaultText(
        "error",
        "value taken from an inactive lane",
        "{name} in line {line}: lane {lane} takes the value of lane {source}, which is not there",
    ),
    "shuffle-unnamed": FaultText(
        "error",
        "value taken from a lane outside the mask",
        "{name} in line {line}: lane {lane} takes the value of lane {source}, which its mask "
        "{mask} does not name",
    ),
    "shuffle-width": FaultText(
        "error",
        "shuffle of a bad width",
        "{name} in line {line} has width {width}; it is a power of two up to 32",
    ),
    "out-of-bounds": FaultText(
        "error",
        "access out of bounds",
        "{verb} {buffer}[{index}] in line {line}, outside its length of {count}" + _LANES,
    ),
    "no-buffer": FaultText(
        "error",
        "access through a bad pointer",
        "{verb} address {address} in line {line}, where no buffer is" + _LANES,
    ),
    "misaligned": FaultText(
        "error",
        "misaligned access",
        "{verb} {size} bytes of {buffer} in line {line} at byte {offset}, which {size} does not "
        "divide",
    ),
    "stray-row": FaultText(
        "warning",
        "access in another row",
        "{who} {verb} {buffer}[{index}] in line {line}, which lies in row {row}; its own {own}",
    ),
    "uninitialised": FaultText(
        "error",
        "read before any write",
        "{buffer}[{index}] is read in line {line} before anything was stored there" + _LANES,
    ),
    "uninitialised-variable": FaultText(
        "error",
        "variable used before it is set",
        "{variable} is used in line {line} before it has a value" + _LANES,
    ),
    "overflow": FaultText(
        "error",
        "signed overflow",
        "{left} {operator} {right} does not fit into {type} in line {line}" + _LANE,
    ),
    "division-by-zero": FaultText(
        "error", "integer division by zero", "{left} {operator} 0 in line {line}" + _LANE
    ),
    "shift-width": FaultText(
        "error",
        "shift by a bad width",
        "a {bits}-bit integer is shifted by {right} in line {line}" + _LANE,
    ),
    "shift-overflow": FaultText(
        "warning",
        "signed shift beyond its type",
        "{left} << {right} in line {line} is undefined before C++20: the left side is negative or "
        "a bit is lost" + _LANE,
    ),
    "no-return": FaultText(
        "error",
        "function ends without a value",
        "{function} in line {line} should return a value and reaches its end" + _LANES,
    ),
    "latent-overflow": FaultText(
        "note",
        "32-bit offset",
        "the product in line {line} has 32 bits and moves a pointer: it overflows once it reaches "
        "{limit}, whatever the size of the pointer",
    ),
    "bank-conflict": FaultText(
        "note",
        "shared-memory bank conflict",
        "{verb} {buffer} in line {line} takes {wavefronts} wavefronts where {ideal} would do",
    ),
    "uncoalesced": FaultText(
        "note",
        "scattered global access",
        "{verb} {buffer} in line {line} takes {sectors} sectors a request where {ideal} would do",
    ),
    "nan-made": FaultText(
        "warning",
        "NaN made of numbers",
        "{left} {operator} {right} in line {line} is NaN" + _LANE,
    ),
    "wrong-result": FaultText(
        "error",
        "wrong result",
        "{buffer}[{index}] is {got}, the float64 {truth} gives {want}; wrong: {wrong} of {count}, "
        "by up to {error}",
    ),
    "unlike-softmax": FaultText(
        "note",
        "no softmax",
        "the kernel computes exponentials, but {buffer}[{index}] is {got}, where the float64 "
        "{truth} gives {want}; if that is what it should be, say so as the truth of {buffer}",
    ),
    "unwritten": FaultText(
        "error",
        "output not written",
        "never written in {buffer}: {unwritten} of {count}, the first is [{index}]",
    ),
    "order-dependent": FaultText(
        "error",
        "result depends on the order of warps",
        "{buffer}[{index}] is {first} in order {first_schedule} and {second} in order "
        "{second_schedule}",
    ),
}


def fault_text(identifier: str, parameters: Mapping[str, Any]) -> str:
    """Return the text of a fault."""
    return FAULTS[identifier].text.format_map(dict(parameters))
