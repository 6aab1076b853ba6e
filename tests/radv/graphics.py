#!/usr/bin/env python3
"""Makes launch files of graphics and sampling shaders as Mesa's RADV compiles them: tests/corpus/gcn-radv-graphics.tar.gz.

    tests/radv/graphics.py FOLDER WARPJIT [JOB...]

Jobs are in scenes.py, shaders in graphics/. RADV compiles for a chip that RADV_FORCE_FAMILY names, without hardware. Lavapipe draws the
same scene: its targets are what a fragment launch must give, and what a vertex program leaves (a second one, that also stores
it) what a vertex launch must give. Between the two stands a rasteriser of this script. Every launch file is run in both tiers by the command WARPJIT.

Needs what make.py needs, and numpy.
"""

import os
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import numpy as np

import radv_cache
import scenes
from make import BUFFER_FORMAT, CHIPS, HIGH, ICD
from raster import Batch

HERE = pathlib.Path(__file__).resolve().parent
SET, PUSH, GROUPS, VERTICES, TABLE, MEMORY = 0x10_0000, 0x11_0000, 0x12_0000, 0x20_0000, 0x13_0000, 0x100_0000
CAPTURE = 31
# Of the quads of a launch, those that may be left out because last bits decide their texels.
MOST_LEFT_OUT = 0.06


def run(command, **more):
    subprocess.run(list(map(str, command)), check=True, **more)


class Launch:
    """The text of a launch file, and its files."""

    def __init__(self, folder, name, base):
        self.folder, self.name, self.base = folder, name, base
        self.head, self.body = [], []

    def address(self, at):
        return f'"{self.base + at:#x}"' if self.base else f"{at:#x}"

    def store(self, label, data):
        """A file with that content: one for all launches of the job that have the same."""
        data = bytes(data)
        for file in sorted(self.folder.glob(f"{label}*.bin")):
            if file.read_bytes() == data:
                return file.name
        file = self.folder / f"{label}{len(list(self.folder.glob(f'{label}*.bin'))) or ''}.bin"
        file.write_bytes(data)
        return file.name

    def content(self, label, data, table=False):
        data = bytes(data)
        if not any(data) and not table:
            return f"bytes = {len(data)}"
        if len(data) <= 256 and len(data) % 4 == 0:
            return f"u32 = [{', '.join(map(hex, struct.unpack(f'<{len(data) // 4}I', data)))}]"
        return f'data = "{self.store(label, data)}"'

    def buffer(self, name, data, at=None, access=None):
        self.body += ["[[buffer]]", f'name = "{name}"']
        if at is not None:
            self.body.append(f"address = {self.address(at)}")
        self.body.append(self.content(name, data))
        if access:
            self.body.append(f'access = "{access}"')

    def expect(self, name, data, **how):
        self.body += ["[[expect]]", f'buffer = "{name}"', f'data = "{self.store("want_" + name, data)}"']
        self.body += [f'{key} = "{value}"' if isinstance(value, str) else f"{key} = {value}" for key, value in how.items()]

    def write(self):
        (self.folder / self.name).write_text("\n".join(self.head + self.body) + "\n")


class Job:
    def __init__(self, maker, name, scene):
        self.maker, self.name, self.scene = maker, name, scene
        self.work = maker.work / name
        self.work.mkdir()
        self.folder = maker.out / name
        self.folder.mkdir(parents=True, exist_ok=True)

    def compile(self, file, defines=(), source=None):
        out = self.work / (file.replace(".", "_") + ("_capture" if source else "") + ".spv")
        path = HERE / "graphics" / file
        if source:
            path = self.work / f"capture.{file.rsplit('.')[-1]}"
            path.write_text(source)
        run(["glslangValidator", "-V", "--quiet", "--target-env", "vulkan1.1", *[f"-D{d}" for d in defines], path, "-o", out])
        return out

    def outputs(self):
        """Location and type of what the vertex program leaves."""
        text = (HERE / "graphics" / self.scene.vert).read_text()
        for define in ["TWO", "TANGENT"]:
            if define not in self.scene.defines:
                text = re.sub(rf"#ifdef {define}\n.*?#endif\n", "", text, flags=re.S)
        return [(int(n), kind, name) for n, kind, name in re.findall(r"layout\(location = (\d+)\)[ \w]* out (\w+) (\w+);", text)]

    def capture(self):
        """The vertex program that also stores position and outputs."""
        text = (HERE / "graphics" / self.scene.vert).read_text()
        outs = self.outputs()
        stores = [f"cap[at + {n + 1}u] = {'floatBitsToUint' if kind[0] == 'v' else 'uvec4'}({name});" for n, kind, name in outs]
        return text.replace("void main()", "void main_()") + (
            f"\nlayout(set = 0, binding = {CAPTURE}, std430) buffer Capture {{ uvec4 cap[]; }};\n"
            f"void main()\n{{\nmain_();\nuint at = uint(gl_InstanceIndex * {self.scene.vertex_count} + gl_VertexIndex) * {len(outs) + 1}u;\n"
            "cap[at] = floatBitsToUint(gl_Position);\n" + "\n".join(stores) + "\n}\n"
        )

    def scene_file(self, label, exact, vert=None, capture=False):
        s = self.scene
        lines = [f"size {s.width} {s.height}"]
        file = lambda name, data: ((self.work / name).write_bytes(bytes(data)), self.work / name)[1]
        if s.comp:
            lines += [f"comp {self.spv['comp']}", "groups {} {} {}".format(*s.groups)]
        else:
            lines += [f"vert {vert or self.spv['vert']}", f"frag {self.spv['frag']}"]
            lines += [f"vertices {s.stride} {file('vertices', s.vertices)}"]
            lines += [f"attribute {n} {fmt} {offset}" for n, (fmt, offset) in enumerate(s.attributes)]
            lines += [f"indices {file('indices', s.indices.astype('<u4').tobytes())}", f"count {s.indices.size} {s.instances}", f"cull {s.cull}"]
            for n, target in enumerate(s.targets):
                fmt, texel = target.exact if exact else target.real
                lines.append(f"target {fmt} {texel} {self.work}/target{n}")
        if s.push:
            lines.append(f"push {file('push', s.push)}")
        for binding, (image, sampler) in s.textures.items():
            lines.append("texture " + image.scene(binding, file(f"texture{binding}", image.packed())) + " " + sampler.scene())
        for binding, image in s.images.items():
            lines.append("image " + image.scene(binding, file(f"image{binding}", image.packed())))
        for binding, data in s.uniforms.items():
            lines.append(f"uniform {binding} {file(f'uniform{binding}', data)}")
        for binding, data in s.storage.items():
            lines.append(f"storage {binding} {file(f'storage{binding}', data)}")
        if capture:
            size = s.vertex_count * s.instances * (len(self.outputs()) + 1) * 16
            lines.append(f"storage {CAPTURE} {file('capture', bytes(size))}")
        path = self.work / f"{label}.scene"
        path.write_text("\n".join(lines) + "\n")
        return path

    def make(self):
        s = self.scene
        self.spv = {kind: self.compile(getattr(s, kind), s.defines) for kind in ["vert", "frag", "comp"] if getattr(s, kind)}
        read = lambda name: (self.work / name).read_bytes()
        if not s.comp:
            vert = self.compile(s.vert, s.defines, self.capture())
            self.maker.driver("lvp", "run", self.scene_file("capture", True, vert, True))
            rows = np.frombuffer(read("capture.out"), "<u4").reshape(-1, len(self.outputs()) + 1, 4)
            self.positions, self.varyings = rows[:, 0], rows[:, 1:]
            offsets = np.arange(s.instances)[:, None] * s.vertex_count
            self.indices = (s.indices.ravel()[None] + offsets).ravel()
            self.batch = Batch(self.positions.view("<f4"), self.indices, s.width, s.height, s.cull)
        self.maker.driver("lvp", "run", self.scene_file("run", True))
        self.targets = [read(f"target{n}.out") for n in range(len(s.targets))] if not s.comp else []
        self.images = {n: image.unpack(read(f"image{n}.out")) for n, image in s.images.items()}
        self.storage = {n: read(f"storage{n}.out") for n in s.storage}
        for chip, generation in CHIPS.items():
            path = self.scene_file("compile", False)
            self.maker.driver("radeon", "compile", path, self.work / "cache", RADV_FORCE_FAMILY=chip, MESA_SHADER_CACHE_DISABLE="1")
            programs = radv_cache.programs(read("cache"))
            if s.comp:
                self.compute(chip, generation, programs[radv_cache.COMPUTE])
            else:
                self.vertex(chip, generation, programs[radv_cache.VERTEX])
                self.fragment(chip, generation, programs[radv_cache.FRAGMENT])
        self.sweep()

    def sweep(self):
        """Removes files that no launch file names."""
        named = "".join(file.read_text() for file in self.folder.glob("*.toml"))
        for file in self.folder.glob("*.bin"):
            if f'"{file.name}"' not in named:
                file.unlink()

    def start(self, chip, generation, program, suffix=""):
        launch = Launch(self.folder, f"{chip}{suffix}.launch.toml", HIGH if generation == 9 else 0)
        code = f"{chip}{suffix}.bin"
        (self.folder / code).write_bytes(program.code)
        launch.head = [
            f"# {self.scene.comp or self.scene.vert + ', ' + self.scene.frag}, compiled by Mesa 22.3.6's RADV",
            f'[program]\nisa = "gcn"\nchip = "{chip}"\nfile = "{code}"\nformat = "raw"',
        ]
        if program.scratch_bytes:
            print(f"{self.name} {chip}{suffix}: scratch {program.scratch_bytes}")
        return launch

    def user_data(self, program, base, vertex=False):
        data = [0] * program.users
        put = lambda first, *numbers: data.__setitem__(slice(first, first + len(numbers)), numbers)
        for what, (first, count) in program.places.items():
            if what == 0:
                put(first, SET)
            elif what == radv_cache.PUSH:
                put(first, PUSH)
            elif what == radv_cache.INLINE_PUSH:
                put(first, *(struct.unpack_from("<I", self.scene.push, 4 * n)[0] for n in program.pushed))
            elif what == radv_cache.VERTEX_BUFFERS and vertex:
                put(first, TABLE)
            elif what == radv_cache.GROUPS and self.scene.comp:
                put(first, GROUPS, base >> 32)
            elif what not in (radv_cache.RINGS, radv_cache.BASE_VERTEX):
                print(f"{self.name}: user data {what}")
        return data

    def memory(self, launch, generation):
        """Descriptors, and everything that they name. Gives the storage images' marks of texels."""
        s, base = self.scene, launch.base
        table, at, marks = bytearray(), MEMORY, {}
        for binding in range(32):
            unit = 16
            if binding in s.textures or binding in s.images:
                storage = binding in s.images
                image, sampler = (s.images[binding], None) if storage else s.textures[binding]
                data, marks[binding] = image.linear(generation)
                words = image.words(generation, base + at, storage)
                unit = 32
                if not storage:
                    # FMASK's descriptor, four words of nothing.
                    words += [0] * 12 + sampler.words(generation)
                launch.buffer(f"{'image' if storage else 'texture'}{binding}", data, at, None if storage else "r")
            elif binding in s.uniforms or binding in s.storage:
                data = s.uniforms.get(binding) or s.storage[binding]
                words = [at, base >> 32 & 0xFFFF, len(data), BUFFER_FORMAT]
                launch.buffer(f"{'uniform' if binding in s.uniforms else 'storage'}{binding}", data, at)
            else:
                continue
            table += bytes(-len(table) % unit)
            table += struct.pack(f"<{len(words)}I", *(word & 0xFFFF_FFFF for word in words))
            at += -(-len(data) // 0x10000) * 0x10000
        if table:
            launch.buffer("set", table, SET, "r")
        if s.push:
            launch.buffer("push", s.push + bytes(-len(s.push) % 4), PUSH, "r")
        return marks

    def effects(self, launch, generation, marks):
        s = self.scene
        for binding, image in s.images.items():
            data, _ = image.linear(generation, self.images[binding])
            launch.expect(f"image{binding}", data, **s.how.get(binding, {}))
        for binding in s.storage:
            launch.expect(f"storage{binding}", self.storage[binding], **s.how.get(binding, {}))

    def registers(self, launch, program, words):
        sgprs = max(program.sgprs + 8, len(words) + 2, 16)
        launch.head.append(f"registers = {max(program.vgprs, 24)}\nsgprs = {min(104, -(-sgprs // 8) * 8)}")
        return ["[registers]"] + [f"s{n} = {word:#x}" for n, word in enumerate(words) if word]

    def vertex(self, chip, generation, program):
        s = self.scene
        launch = self.start(chip, generation, program, "_vs")
        registers = self.registers(launch, program, self.user_data(program, launch.base, True))
        count = s.vertex_count * s.instances
        launch.head.append(f'[launch]\ntype = "vertex"\ncount = {count}')
        self.memory(launch, generation)
        records = len(s.vertices) if generation == 8 else len(s.vertices) // s.stride
        words = [VERTICES, launch.base >> 32 & 0xFFFF | s.stride << 16, records, BUFFER_FORMAT] * len(s.attributes)
        launch.buffer("vertices", s.vertices, VERTICES, "r")
        launch.buffer("table", struct.pack(f"<{len(words)}I", *words), TABLE, "r")
        outs = self.outputs()
        for name in ["pos", *(f"param{n}" for n in range(len(outs)))]:
            launch.buffer(name, bytes(16 * count))
        launch.body += registers
        rows = np.stack([np.tile(np.arange(s.vertex_count), s.instances), np.repeat(np.arange(s.instances), s.vertex_count)], 1)
        launch.body += ['[[input]]\nregister = "v0"\nwords = 2\nper = "vertex"', launch.content("ids", rows.astype("<u4").tobytes(), True)]
        for export, name in [("pos0", "pos"), *((f"param{n}", f"param{n}") for n in range(len(outs)))]:
            launch.body.append(f'[[output]]\nexport = "{export}"\nwords = 4\nbuffer = "{name}"')
        self.order(launch, outs)
        launch.expect("pos", self.positions.tobytes(), type="f32", max_abs=4e-6, max_ulp=16)
        for n in range(len(outs)):
            exact = all(column is None or outs[column[0]][1][0] != "v" for column in self.columns[n])
            how = dict(type="u32") if exact else dict(type="f32", max_abs=4e-6, max_ulp=16)
            launch.expect(f"param{n}", self.parameter(n).tobytes(), **how)
        if s.vert == "plane.vert" and self.name != "derivatives":
            # It only passes on what it gets: one job's are enough.
            for file in [launch.folder / launch.name, launch.folder / f"{chip}_vs.bin"]:
                file.unlink(missing_ok=True)
            return
        self.finish(launch)

    def order(self, launch, outs):
        """Which output went where: the driver packs varyings anew when it links. Found by the values that the vertex program leaves."""
        launch.write()
        saved = launch.folder / "probe.launch.toml"
        saves = "".join(f'[[save]]\nbuffer = "param{n}"\nfile = "{self.work}/param{n}"\n' for n in range(len(outs)))
        saved.write_text((launch.folder / launch.name).read_text() + saves)
        subprocess.run([self.maker.warpjit, "run", saved, "--tier", "interp"], capture_output=True)
        saved.unlink()
        self.columns = []
        for n in range(len(outs)):
            got = np.frombuffer((self.work / f"param{n}").read_bytes(), "<u4").reshape(-1, 4)
            self.columns.append([self.column(got[:, c], n, c, outs) for c in range(4)])

    def column(self, got, n, c, outs):
        """The output and component that has these values."""
        for m, d in [(n, c)] + [(m, d) for m in range(len(outs)) for d in range(4)]:
            want = np.ascontiguousarray(self.varyings[:, m, d])
            if outs[m][1][0] != "v":
                if (got == want).all():
                    return m, d
            elif np.allclose(got.view("<f4"), want.view("<f4"), 2e-5, 2e-5):
                return m, d
        return None if not got.any() else (n, c)

    def parameter(self, n):
        """Words of a parameter, row by row of vertices."""
        nothing = np.zeros(len(self.varyings), "<u4")
        return np.stack([nothing if column is None else self.varyings[:, column[0], column[1]] for column in self.columns[n]], 1)

    def fragment(self, chip, generation, program):
        batch = self.batch
        launch = self.fragments(chip, generation, program, batch)
        if not (self.scene.images or self.scene.storage):
            bad = self.bad_quads(launch, batch)
            if 0 < bad.sum() <= MOST_LEFT_OUT * len(bad):
                launch = self.fragments(chip, generation, program, batch.without(bad))
                launch.head[0] += f"\n# {bad.sum()} quads are left out in which rounding decides"
        self.finish(launch)

    def bad_quads(self, launch, batch):
        """Quads with a pixel that is not as expected: where a coordinate is between two texels, last bits decide."""
        launch.write()
        probe = launch.folder / "probe.launch.toml"
        targets = self.scene.targets
        saves = "".join(f'[[save]]\nbuffer = "target{n}"\nfile = "{self.work}/got{n}"\n' for n in range(len(targets)))
        probe.write_text((launch.folder / launch.name).read_text() + saves)
        subprocess.run([self.maker.warpjit, "run", probe, "--tier", "interp"], capture_output=True)
        probe.unlink()
        bad = np.zeros(len(batch.rows), bool)
        for n, target in enumerate(targets):
            kind = "<f4" if target.how["type"] == "f32" else "<u4"
            got = np.fromfile(self.work / f"got{n}", kind).reshape(len(batch.rows), -1).astype(float)
            want = np.frombuffer(target.expected(batch.pixels(self.targets[n], target.exact[1]).tobytes()), kind)
            bad |= ~(np.abs(got - want.reshape(got.shape)) <= target.how.get("max_abs", 0)).all(1)
        return bad.reshape(-1, 4).any(1)

    def fragments(self, chip, generation, program, batch):
        s = self.scene
        launch = self.start(chip, generation, program)
        user = self.user_data(program, launch.base)
        registers = self.registers(launch, program, user)
        launch.head.append('[launch]\ntype = "fragment"')
        launch.head.append(f'[fragments]\nquads = "{launch.store("quads", batch.quads.tobytes())}"')
        marks = self.memory(launch, generation)
        # Inputs in VGPRs, as SPI_PS_INPUT_ADDR has them.
        values = batch.values()
        linear, smooth = values[:, 0:2], values[:, 2:4]
        x, y = batch.rows[:, 0:1], batch.rows[:, 1:2]
        bits = lambda numbers: np.asarray(numbers, "<u4").view("<f4")
        front = bits(np.where(values[:, 6:7] > 0, 0xFFFF_FFFF, 0).astype("<u4"))
        columns = [smooth, smooth, smooth, np.stack([smooth[:, 0] / values[:, 5], smooth[:, 1] / values[:, 5], 1 / values[:, 5]], 1)]
        columns += [linear, linear, linear, x * 0, x + 0.5, y + 0.5, values[:, 4:5], values[:, 5:6], front]
        columns += [x * 0, bits(np.full(x.shape, 1)), bits(x | y << 16)]
        used = [columns[n].astype("<f4") if n not in (12, 14, 15) else columns[n] for n in range(16) if program.input_addr >> n & 1]
        if used:
            rows = np.concatenate([column.view("<u4") for column in map(np.ascontiguousarray, used)], 1)
            launch.body += [f'[[input]]\nregister = "v0"\nwords = {rows.shape[1]}\nper = "pixel"', launch.content("pixel", rows.tobytes(), True)]
        outs = self.outputs()
        for n in range(len(outs)):
            words = self.parameter(n)
            corners = np.array([words[c] for c in batch.corners])
            if all(column is None or outs[column[0]][1][0] == "v" for column in self.columns[n]):
                p = corners.view("<f4").astype("f4")
                table = np.stack([p[:, 0], p[:, 1] - p[:, 0], p[:, 2] - p[:, 0]], 2).astype("<f4")
            else:
                table = np.stack([corners[:, 0], corners[:, 1] * 0, corners[:, 2] * 0], 2)
            launch.body += [f'[[input]]\nattribute = {n}\nwords = 4\nper = "primitive"', launch.content(f"attribute{n}", np.ascontiguousarray(table).tobytes(), True)]
        count = len(batch.rows)
        for n, target in enumerate(s.targets):
            launch.buffer(f"target{n}", bytes(count * 4 * target.words))
            export = "mrtz" if target.kind == "depth" else f"mrt{n}"
            more = '\nformat = "f16"' if target.kind == "f16" else ""
            launch.body.append(f'[[output]]\nexport = "{export}"\nwords = {target.words}{more}\nbuffer = "target{n}"')
            launch.expect(f"target{n}", target.expected(batch.pixels(self.targets[n], target.exact[1]).tobytes()), **target.how)
        launch.body[0:0] = registers
        self.effects(launch, generation, marks)
        return launch

    def compute(self, chip, generation, program):
        s = self.scene
        launch = self.start(chip, generation, program)
        launch.head.append(f"rsrc1 = {program.rsrc1:#x}\nrsrc2 = {program.rsrc2:#x}")
        user = self.user_data(program, launch.base)
        launch.head.append(f"[launch]\ngrid = {list(s.groups)}\nblock = {list(s.block)}\nuser_data = [{', '.join(map(hex, user))}]")
        marks = self.memory(launch, generation)
        launch.buffer("groups", struct.pack("<3I", *s.groups), GROUPS, "r")
        self.effects(launch, generation, marks)
        self.finish(launch)

    def finish(self, launch):
        launch.write()
        for tier in ["interp", "jit"]:
            command = [self.maker.warpjit, "run", self.folder / launch.name, "--tier", tier, "--no-cache"]
            done = subprocess.run(list(map(str, command)), capture_output=True, text=True)
            said = (done.stdout + done.stderr).strip()
            self.maker.results.append((self.name, launch.name, tier, done.returncode))
            print(f"{self.name} {launch.name.split('.')[0]} {tier}: {done.returncode}" + ("" if done.returncode == 0 else "\n   " + said[:700]), flush=True)


class Maker:
    def __init__(self, out, warpjit, work):
        self.out, self.warpjit, self.work = pathlib.Path(out), warpjit, pathlib.Path(work)
        self.draw, self.results = self.work / "draw", []
        run(["cc", "-O1", "-o", self.draw, HERE / "draw.c", "-lvulkan"])

    def driver(self, icd, *args, **more):
        env = {**os.environ, "VK_ICD_FILENAMES": f"{ICD}{icd}_icd.x86_64.json", "XDG_RUNTIME_DIR": str(self.work), **more}
        run([self.draw, *args], env=env, stderr=subprocess.DEVNULL if icd == "radeon" else None)


def main():
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    with tempfile.TemporaryDirectory() as work:
        maker = Maker(*sys.argv[1:3], work)
        for name, scene in scenes.scenes().items():
            if len(sys.argv) == 3 or name in sys.argv[3:]:
                Job(maker, name, scene).make()
        for chip in CHIPS:
            mine = [code for _, file, _, code in maker.results if file.startswith(chip)]
            print(f"{chip}: {mine.count(0)} of {len(mine)}")


if __name__ == "__main__":
    main()
