"""What the scripts of foreign clients share: packets through the switch under test, and what was found to work."""

import sys

ADDRESS, P4INFO, PROGRAM = sys.argv[1:4]


def packet(port, frame):
    """What the switch sends for a frame: pairs of port and bytes."""
    print(f"packet {port} {frame.hex()}", flush=True)
    words = sys.stdin.readline().split()
    assert words[:1] == ["sent"], words
    pairs = (word.split(":") for word in words[1:])
    return [(int(port), bytes.fromhex(sent)) for port, sent in pairs]


def advance(milliseconds):
    """The switch's time goes on."""
    print(f"advance {milliseconds}", flush=True)
    assert sys.stdin.readline().strip() == "advanced"


def works(what):
    print(f"works {what}", flush=True)


def frame(dst, src, kind=0x1234, rest=bytes(46)):
    return bytes([10, 0, 0, 0, 0, dst, 10, 0, 0, 0, 0, src]) + kind.to_bytes(2, "big") + rest


def ipv4(dst, src, to, ttl=9, protocol=6):
    header = bytes([0x45, 0, 0, 20, 0, 0, 0, 0, ttl, protocol, 0, 0])
    return frame(dst, 1, 0x0800, header + bytes(src) + bytes(to))
