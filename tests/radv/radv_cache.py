"""Reads a pipeline cache of Mesa 22.3's RADV: code and registers of each program of a pipeline."""

import struct

# Numbers of what user data can hold, behind the 32 descriptor sets.
RINGS, PUSH, INLINE_PUSH, GROUPS, VERTEX_BUFFERS, BASE_VERTEX = 32, 33, 34, 43, 43, 44
VERTEX, FRAGMENT, COMPUTE = 0, 4, 5


class Program:
    """One `radv_shader_binary_legacy`: type, stage, configuration, information, sizes, code."""

    def __init__(self, blob):
        self.stage = struct.unpack_from("<I", blob, 4)[0]
        config = struct.unpack_from("<12I", blob, 12)
        self.sgprs, self.vgprs = config[:2]
        self.lds, self.input_ena, self.input_addr, self.float_mode = config[5:9]
        self.scratch_bytes, self.rsrc1, self.rsrc2 = config[9:12]
        self.code_size = struct.unpack_from("<I", blob, 1304)[0]
        self.code = blob[1324 : 1324 + self.code_size]
        self.pushed = [n for n in range(64) if blob[64 + n // 8] >> n % 8 & 1]
        places = [struct.unpack_from("<bB", blob, 88 + 2 * n) for n in range(32 + 14)]
        self.places = {n: place for n, place in enumerate(places) if place[0] >= 0}
        self.users = self.rsrc2 >> 1 & 31


def programs(cache):
    """The programs by stage. A header of 32 bytes, then an entry: its sizes of binaries are followed by the binaries."""
    binaries, at = {}, 32
    sizes = struct.unpack_from("<50I", cache, 32)
    end = len(cache)
    at = 232
    while at + 1324 <= end:
        code, exec_size, ir, disasm, stats = struct.unpack_from("<5I", cache, at + 1304)
        size = 1324 + code + ir + disasm + stats
        program = Program(cache[at : at + size])
        binaries[program.stage] = program
        more = [n for n in sizes if size <= n < size + 8]
        at += more[0] if more else size
    return binaries
