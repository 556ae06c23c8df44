#!/usr/bin/env python3
"""Fails on files above 600 lines and functions above 70. Run by ctest (label tidy).

A file that says in its first comment why it "stays whole" may be longer; so may a function whose
first line carries NOLINT(readability-function-size), e.g. a switch over opcodes.
"""

import re

import sources

FILE_LINES_MAX = 600
FUNCTION_LINES_MAX = 70
CONTAINER = re.compile(r"\b(namespace|class|struct|union|enum|concept|extern)\b")


def functions(code):
    """(first line, last line) of each outermost function body, from blanked code.

    What stands between the last ; { or } and an opening brace tells what it opens: a namespace or a
    class has its keyword, a function has parentheses. Braces inside a function are not looked at.
    """
    depth_in_function = 0
    start = 0
    parentheses = 0
    head_begin = 0
    for at, char in enumerate(code):
        if char == "(":
            parentheses += 1
        elif char == ")":
            parentheses -= 1
        elif char == "{":
            if depth_in_function > 0:
                depth_in_function += 1
                continue
            head = code[head_begin:at]
            if "(" in head and parentheses == 0 and not is_container(head):
                depth_in_function = 1
                start = head_begin + len(head) - len(head.lstrip())
            head_begin = at + 1
        elif char == "}":
            if depth_in_function > 0:
                depth_in_function -= 1
                if depth_in_function > 0:
                    continue
                yield code.count("\n", 0, start) + 1, code.count("\n", 0, at) + 1
            head_begin = at + 1
        elif char == ";" and depth_in_function == 0 and parentheses == 0:
            head_begin = at + 1


def is_container(head):
    """True for `class X : public Y<(3)>`; false for `struct tm* f()`: the keyword's name is called."""
    keyword = CONTAINER.search(head)
    if not keyword or keyword[0] == "concept":
        return False
    return not re.search(r"\)\s*(const|noexcept|override|final|->.*|requires.*|\s)*$", head, re.S)


def check(path):
    text = path.read_text()
    findings = []
    n_lines = text.count("\n")
    first_comment = re.match(r"(?:#pragma once\s*)?((?:\s*//[^\n]*\n)+)", text)
    if n_lines > FILE_LINES_MAX and not (first_comment and "stays whole" in first_comment[1]):
        findings.append(f"{path}:1: {n_lines} lines, at most {FILE_LINES_MAX}: split it")
    lines = text.splitlines()
    for first, last in functions(without_directives(sources.code_only(text))):
        length = last - first + 1
        exempt = "NOLINT(readability-function-size)" in "".join(lines[first - 1 : first + 1])
        if length > FUNCTION_LINES_MAX and not exempt:
            findings.append(f"{path}:{first}: a function of {length} lines, at most {FUNCTION_LINES_MAX}")
    return findings


def without_directives(code):
    """`code` with preprocessor lines blanked, so that macro bodies do not unbalance the braces."""
    out, continued = [], False
    for line in code.split("\n"):
        directive = continued or line.lstrip().startswith("#")
        continued = directive and line.endswith("\\")
        out.append("" if directive else line)
    return "\n".join(out)


sources.finish([f for path in sources.cpp_files(sources.root_from_arguments()) for f in check(path)])
