"""Pictures by OpenGL 3.3 without a window: uploads and reads of textures, clears, triangles with depth, textures, blending and instances."""
import moderngl
import numpy

SIZE = 64
context = moderngl.create_context(standalone=True, backend="egl", require=330)
random = numpy.random.default_rng(1)

# Textures come back as they were given.
for components, kind in [(4, "f1"), (1, "f1"), (4, "u1"), (2, "f2"), (4, "f4"), (1, "i4")]:
    numbers = {"f1": numpy.uint8, "u1": numpy.uint8, "f2": numpy.float16, "f4": numpy.float32, "i4": numpy.int32}[kind]
    data = random.integers(0, 200, (20, 36, components)).astype(numbers)
    texture = context.texture((36, 20), components, data.tobytes(), dtype=kind)
    back = numpy.frombuffer(texture.read(), numbers).reshape(data.shape)
    assert (back == data).all(), (components, kind)

target = context.framebuffer([context.texture((SIZE, SIZE), 4)], context.depth_texture((SIZE, SIZE)))
target.use()


def picture():
    return numpy.frombuffer(target.read(components=4), numpy.uint8).reshape(SIZE, SIZE, 4)


target.clear(0.2, 0.4, 0.6, 1.0)
assert (picture() == [51, 102, 153, 255]).all(), picture()[0, 0]

# Triangles: near and far corners, a colour that is interpolated with perspective.
program = context.program(
    vertex_shader="""#version 330
in vec4 place; in vec3 color; out vec3 shade;
void main() { gl_Position = place; shade = color; }""",
    fragment_shader="""#version 330
in vec3 shade; out vec4 result;
void main() { result = vec4(shade, 1.0); }""")
corners = numpy.array([
    # x, y, z, w (before the division), red, green, blue
    [-0.93, -0.91, 0.5, 1, 1, 0, 0], [1.81, -1.85, 1.0, 2, 0, 1, 0], [0.07, 0.93, 0.5, 1, 0, 0, 1],
    [-0.95, 0.89, -0.9, 1, 1, 1, 1], [0.91, 0.83, 0.9, 1, 1, 1, 1], [0.03, -0.87, 0.0, 1, 1, 1, 1]], numpy.float32)
array = context.vertex_array(program, [(context.buffer(corners.tobytes()), "4f 3f", "place", "color")],
                             context.buffer(numpy.array([3, 4, 5, 0, 1, 2], numpy.int32).tobytes()))
context.enable(moderngl.DEPTH_TEST)
target.clear(0.0, 0.0, 0.0, 1.0, depth=1.0)
array.render()
wanted, depths = numpy.zeros((SIZE, SIZE, 3)), numpy.ones((SIZE, SIZE))
sure = numpy.ones((SIZE, SIZE), bool)
y, x = numpy.mgrid[0:SIZE, 0:SIZE] + 0.5
for triangle in (corners[3:], corners[:3]):
    w = triangle[:, 3]
    at = (triangle[:, :2] / w[:, None] + 1) * SIZE / 2
    sides = []
    for n in range(3):
        a, b = at[(n + 1) % 3], at[(n + 2) % 3]
        sides.append((b[0] - a[0]) * (y - a[1]) - (b[1] - a[1]) * (x - a[0]))
    area = sum(sides)
    weights = numpy.array([side / area for side in sides])
    # Pixels whose centres are nearly on a side are not looked at.
    sure &= numpy.abs(weights).min(0) > 0.003
    depth = numpy.tensordot(triangle[:, 2] / w, weights, 1) / 2 + 0.5
    color = numpy.tensordot((triangle[:, 4:] / w[:, None]).T, weights, 1) / numpy.tensordot(1 / w, weights, 1)
    sure &= numpy.abs(depth - depths) > 1e-4
    drawn = (weights.min(0) > 0) & (depth < depths)
    depths = numpy.where(drawn, depth, depths)
    wanted = numpy.where(drawn[:, :, None], color.transpose(1, 2, 0), wanted)
difference = numpy.abs(picture()[:, :, :3] - wanted * 255)[sure].max()
assert sure.mean() > 0.9 and difference <= 1, difference
context.disable(moderngl.DEPTH_TEST)

# A texture, smoothed, blended over a colour: two instances of a strip, of which one has half of the picture.
program = context.program(
    vertex_shader="""#version 330
out vec2 at;
void main() { at = vec2(gl_VertexID & 1, gl_VertexID >> 1); gl_Position = vec4(at * vec2(1, 2) - vec2(1 - gl_InstanceID, 1), 0, 1); }""",
    fragment_shader="""#version 330
uniform sampler2D image; in vec2 at; out vec4 result;
void main() { result = vec4(texture(image, at).rgb, 0.5); }""")
texels = random.integers(0, 256, (4, 4, 4)).astype(numpy.uint8)
texture = context.texture((4, 4), 4, texels.tobytes())
texture.filter = (moderngl.LINEAR, moderngl.LINEAR)
texture.repeat_x = texture.repeat_y = False
texture.use(0)
context.enable(moderngl.BLEND)
context.blend_func = moderngl.SRC_ALPHA, moderngl.ONE_MINUS_SRC_ALPHA
target.clear(1.0, 0.5, 0.0, 1.0)
context.vertex_array(program, []).render(moderngl.TRIANGLE_STRIP, vertices=4, instances=2)
u = numpy.clip((numpy.arange(SIZE // 2) + 0.5) / (SIZE // 2) * 4 - 0.5, 0, 3)
v = numpy.clip((numpy.arange(SIZE) + 0.5) / SIZE * 4 - 0.5, 0, 3)
low, share = numpy.floor(u).astype(int), (u % 1)[None, :, None]
rows = texels[:, low, :3] * (1 - share) + texels[:, numpy.minimum(low + 1, 3), :3] * share
low, share = numpy.floor(v).astype(int), (v % 1)[:, None, None]
half = rows[low] * (1 - share) + rows[numpy.minimum(low + 1, 3)] * share
wanted = numpy.concatenate([half, half], 1) / 2 + numpy.array([255, 127.5, 0]) / 2
difference = max(difference, numpy.abs(picture()[:, :, :3] - wanted).max())
assert difference <= 2, difference
context.disable(moderngl.BLEND)

# Lines and points.
program = context.program(
    vertex_shader="#version 330\nin vec2 place; void main() { gl_Position = vec4(place, 0, 1); gl_PointSize = 4.0; }",
    fragment_shader="#version 330\nout vec4 result; void main() { result = vec4(1); }")
place = (numpy.array([[8.5, 8.5], [40.5, 8.5], [8.0, 20.0], [32.0, 48.0]], numpy.float32) / SIZE) * 2 - 1
array = context.vertex_array(program, [(context.buffer(place.tobytes()), "2f", "place")])
target.clear(0.0, 0.0, 0.0, 1.0)
array.render(moderngl.LINES, vertices=2)
assert (picture()[8, 9:40, 0] == 255).all() and 31 <= (picture()[:, :, 0] == 255).sum() <= 33
context.enable(moderngl.PROGRAM_POINT_SIZE)
target.clear(0.0, 0.0, 0.0, 1.0)
array.render(moderngl.POINTS, first=2, vertices=2)
assert (picture()[18:22, 6:10, 0] == 255).all() and (picture()[:, :, 0] == 255).sum() == 32
print(f"difference {difference:.1f} of 255")
