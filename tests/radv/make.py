#!/usr/bin/env python3
"""Makes launch files of compute shaders as Mesa's RADV compiles them: tests/corpus/gcn-radv.tar.gz (docs/testing.md).

    tests/radv/make.py FOLDER WARPJIT

Shaders are shaders/*.comp; `cases` says what each is run on. RADV compiles for a chip that RADV_FORCE_FAMILY names, without
hardware; code and registers are in the pipeline cache. Lavapipe, Mesa's driver for CPUs, runs the same shader and gives
what buffers must hold afterwards. Every launch file is run once by the command WARPJIT.

Needs glslangValidator, a C compiler, libvulkan-dev and mesa-vulkan-drivers of Mesa 22.3 (Debian 12).
"""

import math
import os
import pathlib
import random
import struct
import subprocess
import sys
import tempfile
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
ICD = "/usr/share/vulkan/icd.d/"
CHIPS = {"tahiti": 6, "bonaire": 7, "polaris10": 8, "vega10": 9}

# Where things are put. GCN 1.4's driver keeps them above 2^47: its code completes the 32-bit addresses of user data by
# 0xffff8000.
HIGH = 0xFFFF_8000_0000_0000
SET, PUSH, GROUPS, SCRATCH, BUFFERS = 0x10_0000, 0x11_0000, 0x12_0000, 0x100_0000, 0x20_0000
SCRATCH_WAVES = 16
# The last word of a storage buffer's resource: dst_sel XYZW, num_format float, data_format 32.
BUFFER_FORMAT = 0x27FAC


def words(*numbers):
    return struct.pack(f"<{len(numbers)}I", *(number & 0xFFFF_FFFF for number in numbers))


def floats(*numbers):
    return struct.pack(f"<{len(numbers)}f", *numbers)


def doubles(*numbers):
    return struct.pack(f"<{len(numbers)}d", *numbers)


def cases():
    """By shader: grid, block, buffers, and what else there is. `out` has the buffers that are compared afterwards, and how; `least` is the
    first generation whose driver takes the shader."""
    rng = random.Random(7)
    some = lambda count, most=1 << 32: words(*(rng.randrange(most) for _ in range(count)))
    exact = [rng.uniform(-100, 100) for _ in range(400)] + [0.0, -1.5, 1e30, 3.0]
    halves = [rng.choice([0.25, 0.5, 1.0, 1.5, 3.0, -0.125, -7.0, 100.0]) for _ in range(2 * 2 * 80)]
    return {
        "ids": dict(grid=(3, 2, 2), block=(5, 3, 7), buffers=[bytes(32 * 105 * 12)], out={0: {}}),
        "scan": dict(
            grid=(5, 1, 1), block=(200, 1, 1), buffers=[some(1000), bytes(4000), bytes(20)], out={1: {}, 2: {}}
        ),
        "arrays": dict(grid=(4, 1, 1), block=(70, 1, 1), buffers=[some(301), bytes(4 * 5 * 280)], out={1: {}}),
        "push": dict(
            grid=(4, 1, 1),
            block=(64, 1, 1),
            buffers=[floats(*exact[:400], *exact[:400]), bytes(4 * 4 * 200)],
            push=floats(*(math.sin(n) * 3 for n in range(28))) + words(199),
            out={1: dict(type="f32")},
        ),
        "few_push": dict(
            grid=(7, 1, 1), block=(33, 1, 1), buffers=[some(231)], push=words(77, -1000, 0xFFFFFFF), out={0: {}}
        ),
        "atomics": dict(
            grid=(6, 1, 1),
            block=(96, 1, 1),
            buffers=[some(576), words(*[0] * 17, 0xFFFFFFFF, 0, 0xFFFFFFFF, *[0] * 4, 2**31 - 1, -(2**31), *[0] * 576)],
            out={1: {}},
        ),
        "subgroup": dict(grid=(3, 1, 1), block=(192, 1, 1), buffers=[some(576, 1 << 20), bytes(32 * 576)], out={1: {}}),
        "doubles": dict(
            grid=(4, 1, 1),
            block=(50, 1, 1),
            buffers=[doubles(*exact[:400]), bytes(8 * 8 * 200)],
            out={1: dict(type="f64", max_ulp=1)},
            model=double_results,
        ),
        "small": dict(
            grid=(4, 1, 1),
            block=(75, 1, 1),
            buffers=[
                bytes(rng.randrange(256) for _ in range(300)),
                bytes(rng.randrange(256) for _ in range(600)),
                struct.pack("<600e", *(rng.randrange(-400, 400) / 8 for _ in range(600))),
            ],
            out={0: {}, 1: {}, 2: {}},
        ),
        "halves": dict(
            grid=(2, 1, 1),
            block=(40, 1, 1),
            buffers=[struct.pack("<320e", *halves), bytes(4 * 4 * 80), some(80)],
            out={1: {}, 2: {}},
            least=9,
        ),
        "bounds": dict(
            grid=(3, 1, 1), block=(64, 1, 1), buffers=[some(301), bytes(4 * 111), bytes(4 * 192)], out={1: {}, 2: {}}
        ),
        "functions": dict(
            grid=(2, 1, 1),
            block=(128, 1, 1),
            buffers=[floats(*(rng.uniform(-8, 8) for _ in range(256))), bytes(4 * 12 * 256)],
            out={1: dict(type="f32", max_ulp=40, max_abs=4e-6)},
            model=function_results,
        ),
        "special": dict(
            grid=(3, 2, 1),
            block=(9, 5, 1),
            buffers=[some(270), bytes(4 * 270)],
            spec=words(9, 5, 6, 1) + floats(0.25),
            out={0: {}, 1: dict(type="f32")},
        ),
        "branches": dict(grid=(4, 1, 1), block=(13, 11, 1), buffers=[some(572, 5000), bytes(4 * 572)], out={1: {}}),
    }


def double_results(buffers):
    """What doubles.comp gives. Lavapipe rounds twice where a multiply-add must be fused."""
    out = []
    numbers = struct.unpack("<400d", buffers[0])
    for a, b in zip(numbers[::2], numbers[1::2]):
        single = struct.unpack("<f", struct.pack("<f", a))[0]
        out += [a + b, a * b, a / b, math.sqrt(abs(a)), math.floor(a) + math.trunc(b) + single]
        out += [float(Fraction(a) * Fraction(b) + Fraction(a + b)), min(a, b) if a < b else max(a, -b)]
        out += [abs(a) - math.floor(abs(a)) + math.trunc(b) + int(abs(b)) % 1000]
    return [None, doubles(*out)]


def function_results(buffers):
    """What functions.comp gives, in double precision: lavapipe is no more exact than hardware."""
    out = []
    for x in struct.unpack("<256f", buffers[0]):
        p = abs(x) + 0.01
        out += [math.sin(x), math.cos(x), math.exp(x * 0.5), math.log(p), p**1.5, math.sqrt(p), 1 / math.sqrt(p), 1 / p]
        out += [math.atan(x), math.tanh(x * 0.25), math.sqrt(x * x + p * p + 1), 2 ** (x * 0.25) + math.log2(p)]
    return [None, floats(*out)]


class Compiled:
    """What a pipeline cache of Mesa 22.3 holds of a compute shader: a header of 32 bytes, the entry with the binary's size for
    each stage, the binary (`radv_shader_binary_legacy`)."""

    CONFIG, PUSH_MASK, LOCATIONS, CODE = 244, 296, 320, 1556
    # Numbers of what user data can hold, behind the 32 descriptor sets.
    SCRATCH, PUSH, INLINE_PUSH, GROUPS = 32, 33, 34, 43

    def __init__(self, cache):
        word = lambda at: struct.unpack_from("<I", cache, at)[0]
        assert word(236) == 5, "no compute shader where it should be: another version of Mesa?"
        self.scratch_bytes, self.rsrc1, self.rsrc2 = struct.unpack_from("<3I", cache, self.CONFIG + 36)
        self.code = cache[self.CODE : self.CODE + word(self.CODE - 20)]
        self.pushed = [n for n in range(64) if cache[self.PUSH_MASK + n // 8] >> n % 8 & 1]
        # First register (-1: it is not there) and number of registers of each.
        places = [struct.unpack_from("<bB", cache, self.LOCATIONS + 2 * n) for n in range(32 + 14)]
        self.places = {n: first for n, (first, _) in enumerate(places) if first >= 0}
        assert self.places.keys() <= {0, self.SCRATCH, self.PUSH, self.INLINE_PUSH, self.GROUPS}

    def user_data(self, base, case):
        """The words of user data. `base` is added to all addresses."""
        data = [0] * (self.rsrc2 >> 1 & 31)
        put = lambda first, *numbers: data.__setitem__(slice(first, first + len(numbers)), numbers)
        for what, first in self.places.items():
            if what == 0:
                put(first, SET)
            elif what == self.SCRATCH and self.scratch_bytes:
                # Words 0 and 1 of a resource, swizzled.
                put(first, SCRATCH, base >> 32 & 0xFFFF | 1 << 31)
            elif what == self.PUSH:
                put(first, PUSH)
            elif what == self.INLINE_PUSH:
                put(first, *(struct.unpack_from("<I", case["push"], 4 * n)[0] for n in self.pushed))
            elif what == self.GROUPS:
                put(first, GROUPS, base >> 32)
        return data


class Maker:
    def __init__(self, out, warpjit, work):
        self.out, self.warpjit, self.work = pathlib.Path(out), warpjit, pathlib.Path(work)
        self.vk = self.work / "vk"
        run(["cc", "-O1", "-o", self.vk, HERE / "vk.c", "-lvulkan"])

    def driver(self, icd, *args, **more):
        env = {**os.environ, "VK_ICD_FILENAMES": f"{ICD}{icd}_icd.x86_64.json", "XDG_RUNTIME_DIR": str(self.work), **more}
        run([self.vk, *args], env=env)

    def shader(self, name, case):
        source, prefix = HERE / "shaders" / f"{name}.comp", self.work / name
        run(["glslangValidator", "-V", "--quiet", "--target-env", "vulkan1.2", source, "-o", f"{prefix}.spv"])
        for number, content in enumerate(case["buffers"]):
            pathlib.Path(f"{prefix}.buf{number}").write_bytes(content)
        for kind in ["push", "spec"]:
            if kind in case:
                pathlib.Path(f"{prefix}.{kind}").write_bytes(case[kind])
        if "model" in case:
            results = case["model"](case["buffers"])
        else:
            self.driver("lvp", "run", prefix, *map(str, case["grid"]))
            results = [pathlib.Path(f"{prefix}.buf{n}.out").read_bytes() for n in range(len(case["buffers"]))]
        folder = self.out / name
        folder.mkdir(parents=True, exist_ok=True)
        for number, content in enumerate(case["buffers"]):
            if any(content):
                (folder / f"in{number}.bin").write_bytes(content)
        for number in case["out"]:
            (folder / f"out{number}.bin").write_bytes(results[number])
        for chip, generation in CHIPS.items():
            if generation >= case.get("least", 6):
                self.launch(folder, chip, generation, case, prefix)

    def launch(self, folder, chip, generation, case, prefix):
        cache = self.work / "cache"
        self.driver("radeon", "compile", prefix, cache, RADV_FORCE_FAMILY=chip, MESA_SHADER_CACHE_DISABLE="1")
        compiled = Compiled(cache.read_bytes())
        (folder / f"{chip}.bin").write_bytes(compiled.code)
        base = HIGH if generation == 9 else 0
        address = lambda at: f'"{base + at:#x}"' if base else f"{at:#x}"
        text = [
            f"# {folder.name}.comp, compiled by Mesa 22.3.6's RADV",
            "[program]",
            f'isa = "gcn"\nchip = "{chip}"\nfile = "{chip}.bin"\nformat = "raw"',
            f"rsrc1 = {compiled.rsrc1:#x}\nrsrc2 = {compiled.rsrc2:#x}",
            "[launch]",
            f"grid = {list(case['grid'])}\nblock = {list(case['block'])}",
            f"user_data = [{', '.join(map(hex, compiled.user_data(base, case)))}]",
        ]
        if compiled.scratch_bytes:
            wave = -(-compiled.scratch_bytes // 1024)
            text.append(f"tmpring_size = {wave << 12 | SCRATCH_WAVES:#x}")

        def buffer(name, at, *more):
            text.extend(["[[buffer]]", f'name = "{name}"\naddress = {address(at)}', *more])

        resources, at, places = [], BUFFERS, []
        for content in case["buffers"]:
            places.append(at)
            resources += [at, base >> 32 & 0xFFFF, len(content), BUFFER_FORMAT]
            at += -(-len(content) // 0x10000) * 0x10000
        as_list = lambda numbers: f"u32 = [{', '.join(map(hex, numbers))}]"
        buffer("set", SET, as_list(resources), 'access = "r"')
        if Compiled.PUSH in compiled.places:
            push = case["push"]
            buffer("push", PUSH, as_list(struct.unpack(f"<{len(push) // 4}I", push)), 'access = "r"')
        if Compiled.GROUPS in compiled.places:
            buffer("groups", GROUPS, as_list(case["grid"]), 'access = "r"')
        if compiled.scratch_bytes:
            buffer("scratch", SCRATCH, f"bytes = {wave * 1024 * SCRATCH_WAVES}")
        for number, content in enumerate(case["buffers"]):
            has = f'data = "in{number}.bin"' if any(content) else f"bytes = {len(content)}"
            buffer(f"buf{number}", places[number], has)
        for number, how in case["out"].items():
            text += ["[[expect]]", f'buffer = "buf{number}"\ndata = "out{number}.bin"']
            text += [f'{key} = "{value}"' if key == "type" else f"{key} = {value}" for key, value in how.items()]
        file = folder / f"{chip}.launch.toml"
        file.write_text("\n".join(text) + "\n")
        done = subprocess.run([self.warpjit, "run", file], capture_output=True, text=True)
        print(f"{folder.name} {chip}: {(done.stdout + done.stderr).strip()}")


def run(command, **more):
    subprocess.run(list(map(str, command)), check=True, **more)


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        maker = Maker(*sys.argv[1:], work)
        for name, case in cases().items():
            maker.shader(name, case)


if __name__ == "__main__":
    main()
