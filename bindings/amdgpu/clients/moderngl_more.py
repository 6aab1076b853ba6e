"""OpenGL without a window: dispatches and draws whose sizes are in memory, arrays of a shader in scratch memory, queries and what they decide."""
import moderngl
import numpy

context = moderngl.create_context(standalone=True, backend="egl", require=430)

# A dispatch of 3 groups, by a buffer. The array is too large for registers.
shader = context.compute_shader("""#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { uint a[]; };
void main() {
  uint i = gl_GlobalInvocationID.x, x = i * 7u + 1u, heap[96];
  for (uint n = 0u; n < 96u; n++) heap[n] = n * n + i;
  for (uint n = 0u; n < 50u; n++) { x = (x * 5u + 3u) % 96u; heap[x] += heap[(x + n) % 96u]; }
  a[i] = heap[i % 96u] + x;
}""")
out = context.buffer(numpy.zeros(256, numpy.uint32).tobytes())
out.bind_to_storage_buffer(0)
shader.run_indirect(context.buffer(numpy.array([9, 3, 1, 1], numpy.uint32).tobytes()), 4)
context.finish()
i = numpy.arange(192, dtype=numpy.uint32)
heap = (numpy.arange(96, dtype=numpy.uint32)[:, None] ** 2) + i
x = i * 7 + 1
for n in range(50):
    x = (x * 5 + 3) % 96
    heap[x, i] += heap[(x + n) % 96, i]
wanted = numpy.concatenate([heap[i % 96, i] + x, numpy.zeros(64, numpy.uint32)])
got = numpy.frombuffer(out.read(), numpy.uint32)
assert (got == wanted).all(), (got[:8], wanted[:8])

# Two draws by a buffer: a square of four vertices from the second on, and one in the second instance's place.
program = context.program(
    vertex_shader="""#version 430
in vec2 place; in float moved;
void main() { gl_Position = vec4(place + vec2(moved, 0), 0, 1); }""",
    fragment_shader="#version 430\nout vec4 result; void main() { result = vec4(1); }")
places = context.buffer(numpy.array([9, 9, -1, -1, -0.5, -1, -1, -0.5, -0.5, -0.5], numpy.float32).tobytes())
moves = context.buffer(numpy.array([0, 1], numpy.float32).tobytes())
array = context.vertex_array(program, [(places, "2f", "place"), (moves, "1f/i", "moved")])
draws = context.buffer(numpy.array([[4, 1, 1, 0, 0], [4, 1, 1, 1, 0]], numpy.uint32).tobytes())
target = context.simple_framebuffer((32, 32), 4)
target.use()
target.clear(0, 0, 0, 1)
array.render_indirect(draws, moderngl.TRIANGLE_STRIP, count=2)


def white():
    return (numpy.frombuffer(target.read(components=4), numpy.uint8).reshape(32, 32, 4)[:, :, 0] == 255)


wanted = numpy.zeros((32, 32), bool)
wanted[:8, :8] = wanted[:8, 16:24] = True
assert (white() == wanted).all(), white().astype(int)

# Samples are counted, and draws depend on them.
query = context.query(samples=True, primitives=True)
any_samples = context.query(any_samples=True)
array = context.vertex_array(program, [(places, "2f", "place"), (moves, "1f/i", "moved")])
with query:
    array.render(moderngl.TRIANGLE_STRIP, vertices=4, first=1)
assert query.samples == 64, query.samples
for visible in (False, True):
    target.clear(0, 0, 0, 1)
    with any_samples:
        if visible:
            array.render(moderngl.TRIANGLE_STRIP, vertices=4, first=1)
    target.clear(0, 0, 0, 1)
    # The draw does not wait for the result by itself.
    context.finish()
    with any_samples.crender:
        array.render(moderngl.TRIANGLE_STRIP, vertices=4, first=1)
    assert white().any() == visible, visible
print("as NumPy")
