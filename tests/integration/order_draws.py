# SPDX-License-Identifier: Apache-2.0
"""The numbers of docs/order.md: draws, permutations, digests of records, hashes of words."""
import functools
import math

MASK32, MASK64, MASK128 = 2**32 - 1, 2**64 - 1, 2**128 - 1


# Section "Draws".
def philox(counter, key):
    """Philox4x32-10."""
    c0, c1, c2, c3 = counter
    k0, k1 = key
    for _ in range(10):
        p0 = 0xD2511F53 * c0
        p1 = 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & MASK32, (p0 >> 32) ^ c3 ^ k1, p0 & MASK32
        k0 = (k0 + 0x9E3779B9) & MASK32
        k1 = (k1 + 0xBB67AE85) & MASK32
    return c0, c1, c2, c3


def split(number, count):
    """A number as so many 32-bit words, the lowest first."""
    return [number >> (32 * place) & MASK32 for place in range(count)]


def joined(words):
    return sum(each << (32 * place) for place, each in enumerate(words))


def word(seed, purpose, epoch, lane, index):
    block, half = index >> 1, index % 2
    counter = block & MASK32, (purpose << 24) | (block >> 32), lane, epoch
    out = philox(counter, split(seed, 2))
    return joined(out[2 * half:2 * half + 2])


def below(n, drawn):
    """The number below n from a drawn word."""
    return (drawn * n) >> 64


def stride(n, drawn):
    """The stride over n from a drawn word."""
    if n < 3:
        return n - 1
    low = 8 if n >= 32 else 1
    chosen = low + below(n - 2 * low + 1, drawn)
    while math.gcd(chosen, n) > 1:
        chosen = low if chosen == n - low else chosen + 1
    return chosen


# Section "Permutations".
def scrambled(z):
    """mix(z)."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & MASK64
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & MASK64
    return z ^ (z >> 31)


class Permutation:
    """A keyed bijection of [0, n)."""

    def __init__(self, n, seed, purpose, epoch, lane):
        self.n = n
        self.height = math.isqrt(n - 1) + 1 if n > 0 else 1
        self.width = -(-n // self.height)
        rounds = 0 if n < 2 else 24 if n < 256 else 8
        self.keys = [word(seed, purpose, epoch, lane, number) for number in range(rounds)]

    def __call__(self, x):
        row, column = divmod(x, self.width)
        for number, key in enumerate(self.keys):
            if number % 2 == 0:
                row = (row + below(self.height, scrambled(column ^ key))) % self.height
            else:
                column = (column + below(self.width, scrambled(row ^ key))) % self.width
        x = row * self.width + column
        return x if x < self.n else self(x)

    def all(self):
        return [self(x) for x in range(self.n)]


# Section "Digest".
@functools.cache
def odd_hash(z, number):
    """A(z) for the number 1, A'(z) for 2."""
    return joined(philox(split(z, 4), (0x44564454, number))) | 1


def record_digest(record):
    return odd_hash(record >> 16, 1) * odd_hash(record % 65536, 2) & MASK128


# Section "Identities".
def hash_words(words):
    high_and_low = len(words)
    for number, each in enumerate(words):
        counter = split(high_and_low ^ each, 4)
        high_and_low = joined(philox(counter, (0x44564448, number & MASK32)))
    return high_and_low
