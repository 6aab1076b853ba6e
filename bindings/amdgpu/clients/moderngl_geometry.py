"""Geometry programs and stream output, against NumPy: OpenGL by zink, which makes Vulkan of it."""
import os

os.environ.setdefault("MESA_LOADER_DRIVER_OVERRIDE", "zink")
import moderngl
import numpy as np

SIZE, COUNT = 64, 150
context = moderngl.create_context(standalone=True, backend="egl", require=430)
points = np.random.default_rng(1).uniform(-1, 1, (COUNT, 2)).astype("f4")
points[0] = [0.5, 0.5]
target = context.framebuffer([context.texture((SIZE, SIZE), 4, dtype="f4")])
target.use()

# What the program of vertices gives is written.
program = context.program(
    vertex_shader="""#version 430
    in vec2 place; out vec2 twice; out float sum;
    void main() { twice = place * 2; sum = place.x + place.y; }""",
    varyings=["twice", "sum"],
)
buffer = context.buffer(reserve=COUNT * 12)
context.vertex_array(program, [(context.buffer(points), "2f", "place")]).transform(buffer)
wanted = np.concatenate([points * 2, points[:, :1] + points[:, 1:]], 1)
assert np.array_equal(np.frombuffer(buffer.read(), "f4").reshape(-1, 3), wanted)

# A geometry program gives as many points as it likes.
program = context.program(
    vertex_shader="#version 430\nin vec2 place; out vec2 twice; void main() { twice = place * 2; }",
    geometry_shader="""#version 430
    layout(points) in; layout(points, max_vertices = 3) out; in vec2 twice[]; out vec2 more;
    void main() {
        for (int i = 0; i < 3; i++)
            if (twice[0].x > 0 || i < 1) { more = twice[0] + i; EmitVertex(); EndPrimitive(); }
    }""",
    varyings=["more"],
)
buffer = context.buffer(reserve=COUNT * 24)
query = context.query(primitives=True)
with query:
    context.vertex_array(program, [(context.buffer(points), "2f", "place")]).transform(buffer)
wanted = np.array([place * 2 + i for place in points for i in range(3) if place[0] > 0 or i < 1], "f4")
assert np.array_equal(np.frombuffer(buffer.read(), "f4").reshape(-1, 2)[: len(wanted)], wanted)
assert query.primitives == len(wanted), (query.primitives, len(wanted))

# Each point becomes a square of eight pixels.
program = context.program(
    vertex_shader="#version 430\nin vec2 place; void main() { gl_Position = vec4(place, 0, 1); }",
    geometry_shader="""#version 430
    layout(points) in; layout(triangle_strip, max_vertices = 4) out; out vec2 color;
    void main() {
        for (int i = 0; i < 4; i++) {
            gl_Position = gl_in[0].gl_Position + vec4((vec2(i & 1, i >> 1) - 0.5) * 0.25, 0, 0);
            color = vec2(i & 1, gl_PrimitiveIDIn);
            EmitVertex();
        }
    }""",
    fragment_shader="#version 430\nin vec2 color; out vec4 result; void main() { result = vec4(color, 1, 1); }",
)
target.clear()
context.vertex_array(program, [(context.buffer(points[:1]), "2f", "place")]).render(moderngl.POINTS)
picture = np.frombuffer(target.read(components=4, dtype="f4"), "f4").reshape(SIZE, SIZE, 4)
wanted = np.zeros((SIZE, SIZE, 4), "f4")
wanted[44:52, 44:52] = [0, 0, 1, 1]
wanted[44:52, 44:52, 0] = (np.arange(8) + 0.5) / 8
assert np.abs(picture - wanted).max() < 1e-5, np.abs(picture - wanted).max()
print("as NumPy")
