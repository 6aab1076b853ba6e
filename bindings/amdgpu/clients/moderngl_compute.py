"""A compute shader by OpenGL 4.3 without a window."""
import moderngl
import numpy

context = moderngl.create_context(standalone=True, backend="egl", require=430)
shader = context.compute_shader("""#version 430
layout(local_size_x = 64) in;
layout(std430, binding = 0) buffer A { float a[]; };
layout(std430, binding = 1) buffer B { float b[]; };
void main() { uint i = gl_GlobalInvocationID.x; b[i] = sqrt(a[i]) + 2.0 * a[i]; }""")
a = numpy.arange(4096, dtype=numpy.float32)
source, target = context.buffer(a.tobytes()), context.buffer(reserve=a.nbytes)
source.bind_to_storage_buffer(0)
target.bind_to_storage_buffer(1)
shader.run(64)
context.finish()
difference = numpy.abs(numpy.frombuffer(target.read(), numpy.float32) - (numpy.sqrt(a) + 2 * a)).max()
assert difference < 1e-2, difference
print(f"difference {difference:.1e}")
