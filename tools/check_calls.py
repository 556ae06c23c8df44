#!/usr/bin/env python3
"""Fails on calls that would break repeatability. Run by ctest (label tidy).

- rand, srand, random_device, std engines: random numbers are functions of (seed, id, tick), see base/random.hpp.
- wall clocks anywhere but in WALL_CLOCK_FILE; the monotonic clock and sleeping only in the layers that drive (DRIVERS): an
  engine is told the time. Tests of other layers must not wait or measure either.
- iterating over an unordered container: its order differs between libraries and runs and must not
  reach an output. A comment `// order: why it does not matter` on the line or above it permits it.
"""

import re

import sources

RANDOM = re.compile(
    r"(?<![\w.>])(?:std::)?(s?rand|drand48)\s*\("
    r"|\bstd::(random_device|mt19937(?:_64)?|default_random_engine|minstd_rand)\b")
WALL_CLOCK = re.compile(
    r"\b(system_clock|high_resolution_clock|gettimeofday|CLOCK_REALTIME|localtime(?:_r)?|gmtime(?:_r)?)\b"
    r"|(?<![\w.>])(?:std::)?(time)\s*\(\s*(?:nullptr|NULL|0|&\w+)\s*\)")
CLOCK_OR_SLEEP = re.compile(
    r"\b(using (?:namespace )?std::this_thread)"
    r"|\b(steady_clock|clock_gettime|steady_now|this_thread::sleep_for|this_thread::sleep_until|usleep|nanosleep|nap|"
    r"sleep)\s*(?:\(|::now)")
# Folders and files that own time: hosts, fabrics, tools and what measures.
DRIVERS = re.compile(r"src/rubato/(base|net|tools)/|src/rubato/core/(detail/|(\w*host|watchdog|job|clocks|paced_engine)\w*\.)|bench/|examples/(06|08|09|10|11|12|13)_\w+/")
WALL_CLOCK_FILE = "src/rubato/base/wall_clock.cpp"
UNORDERED = re.compile(r"\bunordered_(?:multi)?(?:map|set)\s*<")


def unordered_names(code):
    """Names of variables and members that are declared as unordered containers."""
    names = set()
    for match in UNORDERED.finditer(code):
        depth, at = 1, match.end()
        while at < len(code) and depth > 0:
            depth += {"<": 1, ">": -1}.get(code[at], 0)
            at += 1
        name = re.match(r"[\s&*]*(\w+)\s*[;={,)]", code[at:])
        if name:
            names.add(name[1])
    return names


def check_order(path, code, lines):
    own = unordered_names(code)
    header = path.with_suffix(".hpp")
    if path.suffix == ".cpp" and header.exists():
        own |= unordered_names(sources.code_only(header.read_text()))
    if not own:
        return []
    choice = "|".join(map(re.escape, sorted(own)))
    walk = re.compile(rf"\bfor\s*\([^;()]*:\s*(?:\w+(?:\.|->))*({choice})\s*\)|\b({choice})(?:\.|->)c?begin\s*\(")
    findings = []
    for number, line in enumerate(code.splitlines(), 1):
        match = walk.search(line)
        comment = "\n".join(lines[max(0, number - 3) : number])
        if match and "// order:" not in comment:
            name = match[1] or match[2]
            findings.append(f"{path}:{number}: iterates over the unordered {name}: sort, or say why under `// order:`")
    return findings


def check(path, root):
    place = path.relative_to(root).as_posix()
    text = path.read_text()
    code = sources.code_only(text)
    findings = check_order(path, code, text.splitlines())
    rules = [(RANDOM, "random numbers come from base/random.hpp")]
    if place != WALL_CLOCK_FILE:
        rules.append((WALL_CLOCK, "no wall clock"))
    if not DRIVERS.match(place):
        rules.append((CLOCK_OR_SLEEP, "no clock and no sleep in this layer: the host tells the time"))
    for number, line in enumerate(code.splitlines(), 1):
        for pattern, why in rules:
            match = pattern.search(line)
            if match:
                findings.append(f"{path}:{number}: {next(filter(None, match.groups()))}: {why}")
    return findings


root = sources.root_from_arguments()
sources.finish([f for path in sources.cpp_files(root) for f in check(path, root)])
