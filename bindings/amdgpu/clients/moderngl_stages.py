"""OpenGL without a window: many vertex attributes, tessellation, alone and ahead of geometry programs, scratch memory of all stages, several samples a pixel."""
import moderngl
import numpy

SIZE = 96
context = moderngl.create_context(standalone=True, backend="egl", require=430)
texture = context.texture((SIZE, SIZE), 4, dtype="f4")
target = context.framebuffer([texture])
context.patch_vertices = 4
HEAD = "#version 430\n"
FLAT = HEAD + "in vec4 shade; out vec4 result; void main() { result = shade; }"


def draw(program, corners, mode, where=target):
    where.use()
    where.clear()
    data = context.buffer(numpy.array(corners, numpy.float32).tobytes())
    context.vertex_array(program, [(data, "2f", "place")]).render(mode)
    return numpy.frombuffer(texture.read(), numpy.float32).reshape(SIZE, SIZE, 4)


def patches(layout, levels, evaluation, **more):
    return context.program(
        vertex_shader=HEAD + "in vec2 place; out vec2 own; void main() { own = place; }",
        # Each thread takes the corner of its neighbour, and gives it back.
        tess_control_shader=HEAD + """layout(vertices = 4) out;
in vec2 own[]; out vec2 moved[]; patch out float number;
void main() {
  moved[gl_InvocationID] = own[(gl_InvocationID + 1) % 4];
  barrier();
  gl_out[gl_InvocationID].gl_Position = vec4(moved[(gl_InvocationID + 3) % 4], 0, 1);
  number = gl_PrimitiveID;
  float levels[6] = float[](LEVELS);
  for (int n = 0; n < 4; n++) gl_TessLevelOuter[n] = levels[n];
  for (int n = 0; n < 2; n++) gl_TessLevelInner[n] = levels[4 + n];
}""".replace("LEVELS", ", ".join(map(str, levels))),
        tess_evaluation_shader=HEAD + f"layout({layout}) in;" + """
patch in float number; out vec4 shade;
vec4 at(vec2 t) {
  return mix(mix(gl_in[0].gl_Position, gl_in[1].gl_Position, t.x), mix(gl_in[3].gl_Position, gl_in[2].gl_Position, t.x), t.y);
}
void main() { gl_Position = at(gl_TessCoord.xy); shade = vec4(gl_TessCoord.xy, number, 1); """ + evaluation + " }",
        **({"fragment_shader": FLAT} | more))


# Sixteen attributes of a vertex, each of which counts.
program = context.program(
    vertex_shader=HEAD + "".join(f"layout(location = {n}) in vec2 a{n};\n" for n in range(16)) + """
out vec4 shade;
void main() { gl_Position = vec4((a0 + 0.5) / 48 - 1, 0, 1); shade = vec4(%s, 1); }""" % ", ".join(
        " + ".join(f"{n + 1} * a{n}.{axis}" for n in range(first, 16, 2)) for first, axis in ((0, "x"), (1, "y"), (2, "x"))),
    fragment_shader=FLAT)
data = numpy.random.default_rng(1).integers(0, SIZE, (40, 16, 2)).astype(numpy.float32)
data[:, 0, 0] = numpy.arange(40)
array = context.vertex_array(program, [(context.buffer(data.tobytes()), " ".join(["2f"] * 16), *[f"a{n}" for n in range(16)])])
target.use()
target.clear()
array.render(moderngl.POINTS)
got = numpy.frombuffer(texture.read(), numpy.float32).reshape(SIZE, SIZE, 4)[data[:, 0, 1].astype(int), numpy.arange(40)]
sums = data * numpy.arange(1, 17)[:, None]
wanted = numpy.stack([sums[:, 0::2, 0].sum(1), sums[:, 1::2, 1].sum(1), sums[:, 2::2, 0].sum(1), numpy.ones(40)], 1)
assert (got == wanted).all()

# Two halves of the screen. However they are cut, the place in the patch is the colour. (Positions are whole 1/256 of a pixel.)
HALVES = [[-1, -1], [0, -1], [0, 1], [-1, 1], [0, -1], [1, -1], [1, 1], [0, 1]]
y, x = (numpy.mgrid[0:SIZE, 0:SIZE] + 0.5) / SIZE
wanted = numpy.stack([x * 2 % 1, y, numpy.floor(x * 2), numpy.ones_like(x)], 2)
for spacing in ("equal", "fractional_odd", "fractional_even"):
    program = patches(f"quads, {spacing}_spacing, ccw", [3, 5.5, 1, 9, 4.3, 6], "")
    for winding, is_there in (("back", True), ("front", False)):
        context.enable(moderngl.CULL_FACE)
        context.cull_face = winding
        got = draw(program, HALVES, moderngl.PATCHES)
        context.disable(moderngl.CULL_FACE)
        assert numpy.abs(got - wanted * is_there).max() < 1e-4, (spacing, winding)

# Points: those inside, and those of the four sides. Their places are moved into the middle of pixels.
points = patches("quads, equal_spacing, point_mode", [6, 7, 8, 9, 8, 10], """
  gl_Position.xy = (floor((gl_Position.xy + 1) * 44 + 4) + 0.5) / 48 - 1;""")
got = draw(points, [[-1, -1], [1, -1], [1, 1], [-1, 1]], moderngl.PATCHES)
assert (got[:, :, 3] == 1).sum() == 7 * 9 + 6 + 7 + 8 + 9, (got[:, :, 3] == 1).sum()

# Lines: eight, of one patch, in the middle of rows.
lines = patches("isolines, equal_spacing", [8, 12, 1, 1, 1, 1], "")
low, high = 4.5 / 48 - 1, 84.5 / 48 - 1
got = draw(lines, [[-1, low], [1, low], [1, high], [-1, high]], moderngl.PATCHES)
assert list(numpy.nonzero(got[:, SIZE // 2, 3])[0]) == list(range(4, 84, 10))

# A geometry program behind it, which passes all triangles on.
program = patches("quads, equal_spacing, ccw", [3, 5, 1, 9, 4, 6], "", geometry_shader=HEAD + """
layout(triangles) in; layout(triangle_strip, max_vertices = 3) out;
in vec4 shade[]; out vec4 passed;
void main() {
  for (int n = 0; n < 3; n++) { gl_Position = gl_in[n].gl_Position; passed = shade[n]; EmitVertex(); }
}""", fragment_shader=HEAD + "in vec4 passed; out vec4 result; void main() { result = passed; }")
assert numpy.abs(draw(program, HALVES, moderngl.PATCHES) - wanted).max() < 1e-4

# Arrays that no registers hold: of vertices, of primitives, of pixels.
SCRATCH = """
float heap(int s) {
  float a[96];
  for (int k = 0; k < 96; k++) a[k] = float((k * 7 + s) % 31);
  for (int k = 0; k < 60; k++) { int j = (k * 5 + s * 3) % 96; a[j] = a[(j + k) % 96] * 0.5 + float(k); }
  return a[(s * 11) % 96] / 128;
}"""


def heap(s):
    a = (numpy.arange(96)[:, None] * 7 + s) % 31 * 1.0
    own = numpy.arange(len(s))
    for k in range(60):
        j = (k * 5 + s * 3) % 96
        a[j, own] = a[(j + k) % 96, own] * 0.5 + k
    return a[s * 11 % 96, own] / 128


program = context.program(
    vertex_shader=HEAD + SCRATCH + """in vec2 place; out float own;
void main() { own = heap(gl_VertexID); gl_Position = vec4((place + 0.5) / 48 - 1, 0, 1); }""",
    geometry_shader=HEAD + SCRATCH + """layout(points) in; layout(points, max_vertices = 1) out;
in float own[]; out vec2 both;
void main() { both = vec2(own[0], heap(gl_PrimitiveIDIn * 3)); gl_Position = gl_in[0].gl_Position; EmitVertex(); }""",
    fragment_shader=HEAD + SCRATCH + """in vec2 both; out vec4 result;
void main() { result = vec4(both, heap(int(gl_FragCoord.x) * 5), 1); }""")
n = numpy.arange(500)
got = draw(program, numpy.stack([n % 90, n // 90 * 7], 1), moderngl.POINTS)[n // 90 * 7, n % 90]
wanted = numpy.stack([heap(n), heap(n * 3), heap(n % 90 * 5), numpy.ones(500)], 1)
assert numpy.abs(got - wanted).max() < 1e-4, numpy.abs(got - wanted).max()

# Samples: those that a program fetches are those that are resolved, and cover as much as the triangle does.
program = context.program(
    vertex_shader=HEAD + "in vec2 place; void main() { gl_Position = vec4(place, 0, 1); }",
    fragment_shader=HEAD + "out vec4 result; void main() { result = vec4(1); }")
TRIANGLE = numpy.array([[-0.93, -0.81], [0.87, -0.35], [-0.21, 0.9]])
area = abs(numpy.linalg.det(TRIANGLE[1:] - TRIANGLE[0])) / 8
for samples in (2, 4, 8):
    several = context.texture((SIZE, SIZE), 4, samples=samples, dtype="f2")
    drawn = context.framebuffer([several])
    draw(program, TRIANGLE, moderngl.TRIANGLES, drawn)
    context.copy_framebuffer(target, drawn)
    resolved = numpy.frombuffer(texture.read(), numpy.float32).reshape(SIZE, SIZE, 4)[:, :, 0]
    fetch = context.program(
        vertex_shader=HEAD + "in vec2 place; void main() { gl_Position = vec4(place, 0, 1); }",
        fragment_shader=HEAD + f"""uniform sampler2DMS image; out vec4 result;
void main() {{ for (int n = 0; n < {samples}; n++) result += texelFetch(image, ivec2(gl_FragCoord.xy), n) / {samples}; }}""")
    several.use(0)
    fetched = draw(fetch, [[-1, -1], [3, -1], [-1, 3]], moderngl.TRIANGLES)[:, :, 0]
    assert (fetched == resolved).all() and len(numpy.unique(fetched)) == samples + 1
    assert abs(fetched.mean() - area) < 0.002, (samples, fetched.mean(), area)
print("as NumPy")
