"""Squares by WebGPU's compute on Vulkan."""
import numpy
from wgpu.backends.wgpu_native.extras import set_instance_extras
from wgpu.utils.compute import compute_with_buffers

# wgpu takes drivers without a proof of conformance (RADV's before gfx8) only so; else it draws by OpenGL there.
set_instance_extras(flags=["Default", "AllowUnderlyingNoncompliantAdapter"])
SHADER = """
@group(0) @binding(0) var<storage, read> x: array<i32>;
@group(0) @binding(1) var<storage, read_write> y: array<i32>;
@compute @workgroup_size(1)
fn main(@builtin(global_invocation_id) i: vec3<u32>) { y[i.x] = x[i.x] * x[i.x] + 1; }"""
a = numpy.arange(1000, dtype=numpy.int32)
result = compute_with_buffers({0: a}, {1: (1000, "i")}, SHADER, n=1000)
assert (numpy.frombuffer(result[1], numpy.int32) == a * a + 1).all()
print("as NumPy")
