# SPDX-License-Identifier: Apache-2.0
"""Small files of many kinds, and tf.train.Example records, made without their libraries."""

import json
import struct
import zlib


def png(width, height, colour=(200, 30, 60)):
    """A picture of one colour."""
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = b"".join(b"\0" + bytes(colour) * width for _ in range(height))
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b"")


def jpeg(blocks_wide=2, blocks_high=1, level=0):
    """A grey picture of 8 x 8 blocks: each of them is one difference of the mean, so two Huffman codes are enough."""
    def segment(marker, data):
        return b"\xff" + bytes([marker]) + struct.pack(">H", len(data) + 2) + data

    # One code each: "0" for a mean of category 0, "0" for the end of a block.
    dc_table = bytes([0x00] + [1] + [0] * 15 + [level])
    ac_table = bytes([0x10] + [1] + [0] * 15 + [0x00])
    frame = struct.pack(">BHHBBBB", 8, 8 * blocks_high, 8 * blocks_wide, 1, 1, 0x11, 0)
    bits = "00" * blocks_wide * blocks_high
    bits += "1" * (-len(bits) % 8)
    scan = bytes(int(bits[i:i + 8], 2) for i in range(0, len(bits), 8))
    return (b"\xff\xd8" + segment(0xE0, b"JFIF\0\1\1\0\0\1\0\1\0\0") + segment(0xDB, b"\0" + b"\x10" * 64) +
            segment(0xC0, frame) + segment(0xC4, dc_table) + segment(0xC4, ac_table) +
            segment(0xDA, bytes([1, 1, 0x00, 0, 63, 0])) + scan + b"\xff\xd9")


def gif():
    """One white pixel."""
    return (b"GIF89a\x01\0\x01\0\x80\0\0\xff\xff\xff\0\0\0,\0\0\0\0\x01\0\x01\0\0\x02\x02D\x01\0;")


def webp():
    """One pixel, lossless: the smallest picture that decoders take."""
    return b"RIFF\x1a\0\0\0WEBPVP8L\x0d\0\0\0\x2f\0\0\0\x10\x07\x10\x11\x11\x88\x88\xfe\x07\0"


def npy(values):
    header = f"{{'descr': '<i4', 'fortran_order': False, 'shape': ({len(values)},), }}".encode()
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    return b"\x93NUMPY\x01\0" + struct.pack("<H", len(header)) + header + struct.pack(f"<{len(values)}i", *values)


def varint(value):
    value &= (1 << 64) - 1
    parts = bytearray()
    while value > 0x7F:
        parts.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes(parts + bytes([value]))


def field(number, data):
    return varint(number << 3 | 2) + varint(len(data)) + data


def feature(values):
    """Of bytes, floats or whole numbers; the first value decides. No value makes a feature without a kind."""
    if not values:
        return b""
    if isinstance(values[0], bytes):
        return field(1, b"".join(field(1, value) for value in values))
    if isinstance(values[0], float):
        return field(2, field(1, struct.pack(f"<{len(values)}f", *values)))
    return field(3, field(1, b"".join(map(varint, values))))


def example(features):
    """A tf.train.Example of {name: values}."""
    entries = (field(1, field(1, name.encode()) + field(2, feature(values))) for name, values in features.items())
    return field(1, b"".join(entries))


def one_of_each():
    """A record of every kind that `inspect` tells apart, by its word."""
    return {
        "empty": b"",
        "example": example({"label": [7]}),
        "json": json.dumps({"text": "a", "n": [1, 2]}).encode(),
        "text": "naïve text\n".encode(),
        "jpeg": jpeg(),
        "png": png(3, 2),
        "gif": gif(),
        "webp": webp(),
        "numpy": npy([1, 2, 3]),
        "gzip": zlib.compressobj(6, zlib.DEFLATED, 31).flush(),
        "raw": bytes(range(256)),
    }
