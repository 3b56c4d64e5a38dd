# SPDX-License-Identifier: Apache-2.0
"""A plot of points on two logarithmic axes as a PNG file, with NumPy alone."""

import struct
import zlib

import numpy as np

SIZE, FRAME = (560, 860), (40, 620, 500, 80)  # rows, columns; top, right, bottom, left of the frame
COLOURS = ((200, 30, 30), (30, 90, 200), (20, 140, 60), (150, 80, 180), (220, 140, 20), (90, 90, 90), (0, 150, 160))

# Five columns a letter, the lowest bit on top.
LETTERS = {one[0]: bytes.fromhex(one[1:]) for one in """A7E1111117E B7F49494936 C3E41414122 D7F4141221C E7F49494941
F7F09090901 G3E4149497A H7F0808087F I00417F4100 J2040413F01 K7F08142241 L7F40404040 M7F020C027F N7F0408107F O3E4141413E
P7F09090906 R7F09192946 S4649494931 T01017F0101 U3F4040403F V1F2040201F W3F4038403F X6314081463 Y0708700807 Z6151494543
03E5149453E 100427F4000 24261514946 32141454B31 41814127F10 52745454539 63C4A494930 70171090503 83649494936 9064949291E
a2054545478 b7F48444438 c3844444420 d384444487F e3854545418 f087E090102 g0C5252523E h7F08040478 i00447D4000 k7F10284400
l00417F4000 m7C04180478 n7C08040478 o3844444438 p7C14141408 q081414187C r7C08040408 s4854545420 t043F444020 u3C4040207C
v1C2040201C w3C4030403C x4428102844 y0C5050503C z4464544C44 .0060600000 ,0050300000 -0808080808 +08083E0808 :0036360000
(001C224100 )0041221C00 /2010080402 ^0402010204""".split()}  # fmt: skip


def write(picture, row, column, text, colour=(0, 0, 0)):
    """Letters of 5 x 7 points, the first one's corner at (row, column)."""
    for letter in text:
        for i, bits in enumerate(LETTERS.get(letter, bytes(5))):
            for j in range(7):
                if bits >> j & 1:
                    picture[row + j, column + i] = colour
        column += 6


def line(picture, begin, end, colour):
    steps = int(max(abs(end[0] - begin[0]), abs(end[1] - begin[1]))) + 1
    rows, columns = (np.round(np.linspace(a, b, steps)).astype(int) for a, b in zip(begin, end))
    picture[rows, columns] = colour


class Axes:
    """Where numbers stand between whole powers of ten."""

    def __init__(self, x, y):
        self.ends = [(int(np.floor(np.log10(min(v)))), int(np.ceil(np.log10(max(v))))) for v in (x, y)]

    def at(self, x, y):
        top, right, bottom, left = FRAME
        (x0, x1), (y0, y1) = self.ends
        return (bottom - (np.log10(y) - y0) / max(y1 - y0, 1) * (bottom - top),
                left + (np.log10(x) - x0) / max(x1 - x0, 1) * (right - left))  # fmt: skip

    def draw(self, picture):
        (x0, x1), (y0, y1) = self.ends
        for power in range(x0, x1 + 1):
            begin, end = self.at(10.0**power, 10.0**y0), self.at(10.0**power, 10.0**y1)
            line(picture, begin, end, (215, 215, 215))
            write(picture, int(begin[0]) + 8, int(begin[1]) - 12, f"10^{power}")
        for power in range(y0, y1 + 1):
            begin, end = self.at(10.0**x0, 10.0**power), self.at(10.0**x1, 10.0**power)
            line(picture, begin, end, (215, 215, 215))
            write(picture, int(begin[0]) - 3, int(begin[1]) - 36, f"10^{power}")


def save(path, picture):
    rows = b"".join(b"\0" + row.tobytes() for row in picture)
    with open(path, "wb") as file:
        file.write(b"\x89PNG\r\n\x1a\n")
        head = struct.pack(">2I5B", picture.shape[1], picture.shape[0], 8, 2, 0, 0, 0)
        for name, data in ((b"IHDR", head), (b"IDAT", zlib.compress(rows, 9)), (b"IEND", b"")):
            file.write(struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data)))


def plot(path, title, across, up, series):
    """`series`: names with points (x, y), in the order of their colours."""
    series = {name: sorted(points) for name, points in series.items() if points}
    picture = np.full((*SIZE, 3), 255, np.uint8)
    every = [point for points in series.values() for point in points]
    axes = Axes([x for x, _ in every], [y for _, y in every])
    axes.draw(picture)
    write(picture, 16, FRAME[3], title)
    write(picture, FRAME[2] + 32, (FRAME[1] + FRAME[3]) // 2 - 3 * len(across), across)
    write(picture, FRAME[0] - 12, FRAME[3], up)
    for i, (name, points) in enumerate(series.items()):
        colour, places = COLOURS[i % len(COLOURS)], [axes.at(x, y) for x, y in points]
        for begin, end in zip(places, places[1:]):
            line(picture, begin, end, colour)
        for row, column in places:
            picture[int(row) - 3 : int(row) + 4, int(column) - 3 : int(column) + 4] = colour
        top = FRAME[0] + 16 * i
        picture[top : top + 7, FRAME[1] + 14 : FRAME[1] + 21] = colour
        write(picture, top, FRAME[1] + 27, name, colour)
    save(path, picture)
