#!/usr/bin/env python3
"""Writes the small files that the examples of `rubato run MODEL --help` read, beside itself: make_data.py.

All of them are made up; the same bytes each time.
"""

import math
import pathlib
import random
import struct
import zlib

FOLDER = pathlib.Path(__file__).resolve().parent
WIDTH, HEIGHT = 160, 120
FREE, WALL = 255, 0
NO_SOURCE, COLD, HOT = 0, 1, 255


def write_png(name, rows):
    """An 8-bit gray PNG."""
    def chunk(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))
    head = struct.pack(">IIBBBBB", len(rows[0]), len(rows), 8, 0, 0, 0, 0)
    lines = b"".join(b"\0" + bytes(row) for row in rows)
    (FOLDER / name).write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(lines, 9)) +
                                chunk(b"IEND", b""))


def fill(rows, x, y, width, height, value):
    for row in rows[y:y + height]:
        row[x:x + width] = [value] * width


def house():
    """The plan of a house: walls are black. And what is held at a temperature: two stoves, cold windows."""
    walls = [[FREE] * WIDTH for _ in range(HEIGHT)]
    sources = [[NO_SOURCE] * WIDTH for _ in range(HEIGHT)]
    for x, y, width, height in [(0, 0, WIDTH, 4), (0, HEIGHT - 4, WIDTH, 4), (0, 0, 4, HEIGHT), (WIDTH - 4, 0, 4, HEIGHT),
                                (70, 0, 4, HEIGHT), (70, 62, 90, 4), (0, 74, 70, 4)]:
        fill(walls, x, y, width, height, WALL)
    for x, y, width, height in [(70, 30, 4, 16), (110, 62, 16, 4), (30, 74, 16, 4), (70, 90, 4, 14)]:  # doors
        fill(walls, x, y, width, height, FREE)
    for x, y, width, height in [(20, 0, 24, 4), (100, 0, 30, 4), (156, 80, 4, 20)]:
        fill(walls, x, y, width, height, FREE)
        fill(sources, x, y, width, height, COLD)
    for x, y in [(8, 40), (140, 50)]:
        fill(sources, x, y, 10, 8, HOT)
    write_png("house.png", walls)
    write_png("stoves.png", sources)


def pages(rng):
    """Links between 200 pages, most of them to the early ones, which many know."""
    lines = ["# A made-up web: page, and a page that it links to."]
    for page in range(1, 200):
        targets = {int(page * rng.random() ** 2) for _ in range(rng.randint(0, 6))}
        lines += [f"{page} {target}" for target in sorted(targets)]
        if rng.random() < 0.3:
            lines.append(f"{int(page * rng.random())} {page}")
    (FOLDER / "pages.txt").write_text("\n".join(lines) + "\n")


def packages(rng):
    """What made-up packages depend on and recommend: name, relation, name."""
    names = [f"{first}-{last}" for last in ("core", "net", "doc", "tools", "gui")
             for first in ("amber", "birch", "cedar", "delta", "ember", "fjord", "grove", "heath", "inlet", "jade")]
    lines = []
    for i, name in enumerate(names[1:], 1):
        for other in sorted({names[int(i * rng.random() ** 2)] for _ in range(rng.randint(1, 4))}):
            lines.append(f"{name}\t{'Depends' if rng.random() < 0.75 else 'Recommends'}\t{other}")
    (FOLDER / "packages.tsv").write_text("\n".join(lines) + "\n")


def fish(rng):
    """A school of 300 fish on a disc, heading anywhere; every tenth knows the way."""
    lines = ["id,x,y,vx,vy,informed"]
    for i in range(300):
        radius, place, heading = 40 * math.sqrt(rng.random()), rng.uniform(0, 2 * math.pi), rng.uniform(0, 2 * math.pi)
        lines.append(f"{i},{60 + radius * math.cos(place):.3f},{60 + radius * math.sin(place):.3f},"
                     f"{math.cos(heading):.3f},{math.sin(heading):.3f},{int(i % 10 == 0)}")
    (FOLDER / "fish.csv").write_text("\n".join(lines) + "\n")


def bodies(rng):
    """Two rings of 150 bodies that turn, side by side, and on their way to meet."""
    lines = ["id,x,y,vx,vy,mass"]
    for ring, (x, y, drift) in enumerate(((30, 40, 1.0), (70, 60, -1.0))):
        for i in range(150):
            radius, place = rng.uniform(8, 14), rng.uniform(0, 2 * math.pi)
            vx, vy = drift - 0.5 * math.sin(place), 0.5 * math.cos(place)
            lines.append(f"{150 * ring + i},{x + radius * math.cos(place):.3f},{y + radius * math.sin(place):.3f},"
                         f"{vx:.3f},{vy:.3f},{rng.choice((1, 1, 1, 4))}")
    (FOLDER / "bodies.csv").write_text("\n".join(lines) + "\n")


def plate():
    """How heat spreads in a plate of 15 x 15 cells that loses some of it: a symmetric matrix of 225 rows."""
    side = 15
    entries = []
    for row in range(side * side):
        entries.append((row, row, 4.5))
        if row % side:
            entries.append((row, row - 1, -1))
        if row >= side:
            entries.append((row, row - side, -1))
    lines = ["%%MatrixMarket matrix coordinate real symmetric", "% a plate of 15 x 15 cells",
             f"{side * side} {side * side} {len(entries)}"]
    lines += [f"{i + 1} {j + 1} {value}" for i, j, value in entries]
    (FOLDER / "plate.mtx").write_text("\n".join(lines) + "\n")


house()
pages(random.Random(1))
packages(random.Random(2))
fish(random.Random(3))
bodies(random.Random(4))
plate()
