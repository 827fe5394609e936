# SPDX-License-Identifier: BSD-2-Clause
"""The mutants of a C file: what could be written wrongly in it, one change each.

Not a parser: a scanner that knows comments, strings, preprocessor lines, function bodies and
initialisers, and relies on clang-format, by which a binary operator has spaces on both sides and
that of a pointer has not.  What it draws and does not compile is dropped by the caller.

Left out, since no test could or should tell the difference: text of any kind, log_...() and
assert() with all that is in them, sizes of arrays and of sizeof, type definitions, preprocessor
lines, and calls of free() and its kind, which LeakSanitizer watches in tests/run.
"""

import re
from collections import namedtuple

Mutant = namedtuple("Mutant", "file line column kind start end text old")
Token = namedtuple("Token", "kind text start end")

SCANNER = re.compile(
    r"""(?P<space>\s+|\\\n)
      | (?P<comment>/\*.*?\*/|//[^\n]*)
      | (?P<string>"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*')
      | (?P<directive>\#(?:[^\n\\]|\\\n|\\.)*)
      | (?P<number>(?:0[xX][0-9a-fA-F]+|[0-9]+)[uUlL]*)
      | (?P<word>[A-Za-z_]\w*)
      | (?P<sign>\.\.\.|<<=|>>=|->|\+\+|--|<<|>>|[<>=!+\-*/%&|^]=|&&|\|\||.)""",
    re.DOTALL | re.VERBOSE,
)

OPERATORS = {
    "<": ["<=", ">="], "<=": ["<", ">"], ">": [">=", "<="], ">=": [">", "<"],
    "==": ["!="], "!=": ["=="], "&&": ["||"], "||": ["&&"],
    "+": ["-"], "-": ["+"], "*": ["/"], "/": ["*"], "%": ["/"],
    "&": ["|"], "|": ["&"], "^": ["|"], "<<": [">>"], ">>": ["<<"],
    "+=": ["-="], "-=": ["+="], "|=": ["&="], "&=": ["|="],
}  # fmt: skip
STEPS = {"++": "--", "--": "++"}
WORDS = {"true": "false", "false": "true"}
KEYWORDS = set("return if for while do switch case default goto else break continue sizeof".split())
TYPES = set(
    "struct enum union static const unsigned int char bool void size_t ssize_t typedef extern".split()
)
SILENT = re.compile(r"(log_\w+|assert|static_assert|_Static_assert|sizeof|offsetof|__attribute__)$")
# A statement that is nothing but one of these is not deleted.
UNSEEN = {"free", "pool_destroy", "munmap", "text_free"}


def scan(text):
    return [
        Token(m.lastgroup, m.group(), m.start(), m.end())
        for m in SCANNER.finditer(text)
        if m.lastgroup not in ("space", "comment")
    ]


def matching(tokens, at):
    """The index of the bracket that closes the one at `at`."""
    depth = 0
    for i in range(at, len(tokens)):
        if tokens[i].kind == "sign" and tokens[i].text in "([{":
            depth += 1
        elif tokens[i].kind == "sign" and tokens[i].text in ")]}":
            depth -= 1
            if not depth:
                return i
    return len(tokens) - 1


def outer_blocks(tokens):
    """(begin, end, is_function) of what stands in braces at the outermost level."""
    i = 0
    while i < len(tokens):
        if tokens[i].text != "{" or tokens[i].kind != "sign":
            i += 1
            continue
        end, before = matching(tokens, i), tokens[i - 1].text if i else ""
        if before == ")":
            yield i, end, True
        elif before == "=":
            yield i, end, False
        i = end + 1


def silenced(tokens, begin, end):
    """Indices within calls whose arguments do not count."""
    found = set()
    for i in range(begin, end):
        if tokens[i].kind == "word" and SILENT.match(tokens[i].text) and tokens[i + 1].text == "(":
            found.update(range(i, matching(tokens, i + 1) + 1))
    return found


def is_type(token):
    return token.text in TYPES or token.text.endswith("_t")


def declares_array(tokens, i):
    """Is the number at i the size in a declaration: TYPE name[NUMBER]?"""
    return (
        tokens[i - 1].text == "["
        and tokens[i + 1].text == "]"
        and tokens[i - 2].kind == "word"
        and (tokens[i - 3].kind == "word" or tokens[i - 3].text in ("*", ","))
        and tokens[i - 3].text not in KEYWORDS
    )


def number_text(text):
    digits = text.rstrip("uUlL")
    value = int(digits, 16 if digits[:2].lower() == "0x" else 10)
    other = {0: 1, 1: 0}.get(value, value + 1)
    return (hex(other) if digits[:2].lower() == "0x" else str(other)) + text[len(digits) :]


def of_token(text, tokens, i):
    """(kind, replacement) of one token."""
    t = tokens[i]
    if t.kind == "number" and not declares_array(tokens, i):
        yield "constant", number_text(t.text)
    elif t.text in WORDS:
        yield "constant", WORDS[t.text]
    elif t.kind != "sign":
        return
    elif t.text in STEPS:
        yield "operator", STEPS[t.text]
    elif t.text == "!":
        yield "operator", ""
    elif t.text in OPERATORS and text[t.start - 1].isspace() and text[t.end].isspace():
        for other in OPERATORS[t.text]:
            yield "operator", other


def is_label(tokens, i):
    """Is the colon at i that of a label or case, not of a choice?"""
    for k in range(i - 1, max(i - 6, 0), -1):
        if tokens[k].text in ("case", "default") or tokens[k].text in ("{", "}", ";"):
            return True
        if tokens[k].text == "?":
            return False
    return False


def statement_starts(tokens, begin, end):
    """Indices at which a statement may begin."""
    i = begin + 1
    while i < end:
        before = tokens[i - 1].text
        if before in (";", "{", "}", "else", "do") or before == ":" and is_label(tokens, i - 1):
            yield i
        if tokens[i].text in ("if", "for", "while", "switch") and tokens[i + 1].text == "(":
            i = matching(tokens, i + 1) + 1
            yield i
            continue
        i += 1


def statement_end(tokens, i, end):
    """The index of the ';' that ends a simple statement, None if it is not simple."""
    while i < end:
        if tokens[i].text in ("(", "["):
            i = matching(tokens, i)
        elif tokens[i].text in ("{", "}"):
            return None
        elif tokens[i].text == ";":
            return i
        i += 1
    return None


def deletable(tokens, i, stop):
    first, second = tokens[i], tokens[i + 1]
    if first.text in ("break", "continue"):
        return True
    if first.text in KEYWORDS or first.text in UNSEEN or is_type(first):
        return False
    if first.kind == "word" and SILENT.match(first.text):
        return False
    if first.kind == "word" and (second.kind == "word" or second.text == ":"):
        return False
    return i < stop


def of_statements(text, tokens, begin, end):
    """(kind, start, end, replacement): statements left out, conditions and errors turned round."""
    for i in statement_starts(tokens, begin, end):
        first = tokens[i]
        stop = statement_end(tokens, i, end)
        if first.text == "if" and tokens[i + 1].text == "(":
            close = matching(tokens, i + 1)
            inside = text[tokens[i + 1].end : tokens[close].start]
            if not re.search(r"[<>=!]=|[<>!]|&&|\|\|", inside):
                yield "condition", tokens[i + 1].end, tokens[close].start, f"!({inside})"
        elif stop is None:
            continue
        elif first.text == "return" and tokens[i + 1].text == "-" and stop == i + 3:
            yield "error", tokens[i + 1].start, tokens[stop].start, "0"
        elif deletable(tokens, i, stop):
            gone = text[first.start : tokens[stop].start]
            yield "deleted", first.start, tokens[stop].start, "\n" * gone.count("\n")


def mutants(file, text):
    """All mutants of a file, in the order of its text."""
    tokens = scan(text)
    found = []

    def add(kind, start, end, replacement):
        line = text.count("\n", 0, start) + 1
        column = start - text.rfind("\n", 0, start)
        old = text[start:end]
        found.append(Mutant(file, line, column, kind, start, end, replacement, old))

    for begin, end, is_function in outer_blocks(tokens):
        quiet = silenced(tokens, begin, end)
        for i in range(begin + 1, end):
            if i not in quiet:
                for kind, replacement in of_token(text, tokens, i):
                    add(kind, tokens[i].start, tokens[i].end, replacement)
        if is_function:
            for change in of_statements(text, tokens, begin, end):
                add(*change)
    return sorted(set(found), key=lambda m: (m.start, m.end, m.text))
