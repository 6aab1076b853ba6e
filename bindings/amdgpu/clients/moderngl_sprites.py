"""Sprites as games draw them: a geometry program makes a rectangle of each point, with textures and a block of matrices; against NumPy."""
import moderngl
import numpy as np

SIZE, GRID = 64, 8
context = moderngl.create_context(standalone=True, backend="egl")
program = context.program(
    vertex_shader="""#version 330
    in vec4 place; in vec2 extent; in float number; in vec4 color;
    out float angle; out vec2 size; out float texture_number; out vec4 tint;
    void main() {
        gl_Position = vec4(place.xyz, 1);
        angle = place.w; size = extent; texture_number = number; tint = color;
    }""",
    geometry_shader="""#version 330
    layout(points) in; layout(triangle_strip, max_vertices = 4) out;
    uniform Window { mat4 projection; mat4 view; } window;
    uniform sampler2D atlas; uniform sampler2D areas;
    in float angle[]; in vec2 size[]; in float texture_number[]; in vec4 tint[];
    out vec2 at; out vec4 factor;
    void main() {
        vec3 center = gl_in[0].gl_Position.xyz;
        mat4 matrix = window.projection * window.view;
        if ((matrix * vec4(center, 1)).x > 0.8) return;
        int number = int(texture_number[0]);
        vec4 area = texelFetch(areas, ivec2(number % 4, number / 4), 0);
        mat2 turn = mat2(cos(angle[0]), -sin(angle[0]), sin(angle[0]), cos(angle[0]));
        for (int corner = 0; corner < 4; corner++) {
            vec2 side = vec2(corner & 1, corner >> 1);
            gl_Position = matrix * vec4(turn * ((side - 0.5) * size[0]) + center.xy, center.z, 1);
            at = mix(area.xy, area.zw, side); factor = tint[0] * vec4(textureSize(atlas, 0), 1, 1);
            EmitVertex();
        }
        EndPrimitive();
    }""",
    fragment_shader="""#version 330
    uniform sampler2D atlas; in vec2 at; in vec4 factor; out vec4 result;
    void main() { result = texture(atlas, at) * factor; }""",
)
random = np.random.default_rng(1)
# Squares of eight pixels, which together cover the target; each has a texel of the atlas.
centers = (np.stack(np.meshgrid(np.arange(GRID), np.arange(GRID)), -1).reshape(-1, 2) + 0.5) * SIZE / GRID
count = len(centers)
places = np.c_[centers, np.zeros((count, 1)), np.full((count, 1), np.pi / 2)].astype("f4")
extents = np.full((count, 2), SIZE / GRID, "f4")
numbers = random.integers(0, 16, count)
colors = random.random((count, 4)).astype("f4")
texels = random.random((4, 4, 4)).astype("f4")
middles = (np.stack(np.meshgrid(np.arange(4), np.arange(4)), -1).reshape(-1, 2) + 0.5) / 4
areas = np.c_[middles, middles].astype("f4")
for name, pixels, unit in [("atlas", texels, 0), ("areas", areas.reshape(4, 4, 4), 1)]:
    texture = context.texture((4, 4), 4, pixels.tobytes(), dtype="f4")
    texture.filter = (moderngl.NEAREST, moderngl.NEAREST)
    texture.use(unit)
    program[name] = unit
projection = np.diag([2 / SIZE, 2 / SIZE, -1, 1]).astype("f4")
projection[3, :2] = -1
context.buffer(np.array([projection, np.eye(4)], "f4")).bind_to_uniform_block(0)
buffers = [
    (context.buffer(places), "4f", "place"),
    (context.buffer(extents), "2f", "extent"),
    (context.buffer(numbers.astype("f4")), "1f", "number"),
    (context.buffer(colors), "4f", "color"),
]
target = context.framebuffer([context.texture((SIZE, SIZE), 4, dtype="f4")])
target.use()
target.clear(0.5, 0.5, 0.5, 0.5)
context.vertex_array(program, buffers).render(moderngl.POINTS)
picture = np.frombuffer(target.read(components=4, dtype="f4"), "f4").reshape(SIZE, SIZE, 4)
wanted = texels.reshape(16, 4)[numbers] * colors * np.array([4, 4, 1, 1], "f4")
wanted[centers[:, 0] * 2 / SIZE - 1 > 0.8] = 0.5
wanted = wanted.reshape(GRID, GRID, 4).repeat(SIZE // GRID, 0).repeat(SIZE // GRID, 1)
assert np.abs(picture - wanted).max() < 1e-5, np.abs(picture - wanted).max()
print("as NumPy")
