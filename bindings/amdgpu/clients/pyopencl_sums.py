"""Two OpenCL kernels by Clover: a product, and sums by groups in local memory."""
import numpy
import pyopencl as cl

SOURCE = """
kernel void product(global const float *a, global const float *b, global float *c) {
    int i = get_global_id(0);
    c[i] = a[i] * b[i] + 1.0f;
}
kernel void sums(global const float *a, global float *out) {
    local float all[100];
    int l = get_local_id(0);
    all[l] = a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    if (l == 0) {
        float sum = 0;
        for (int i = 0; i < 100; i++) sum += all[i];
        out[get_group_id(0)] = sum;
    }
}
"""
platform = next(platform for platform in cl.get_platforms() if "Clover" in platform.name)
context = cl.Context(platform.get_devices()[:1])
queue = cl.CommandQueue(context)
a = numpy.arange(10000, dtype=numpy.float32)
b = numpy.random.default_rng(1).random(a.size, dtype=numpy.float32)
read = cl.mem_flags.READ_ONLY | cl.mem_flags.COPY_HOST_PTR
buffers = [cl.Buffer(context, read, hostbuf=array) for array in (a, b)]
product = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, a.nbytes)
sums = cl.Buffer(context, cl.mem_flags.WRITE_ONLY, 400)
program = cl.Program(context, SOURCE).build()
program.product(queue, (a.size,), None, *buffers, product)
program.sums(queue, (a.size,), (100,), buffers[0], sums)
found, found_sums = numpy.empty_like(a), numpy.empty(100, numpy.float32)
cl.enqueue_copy(queue, found, product)
cl.enqueue_copy(queue, found_sums, sums)
assert numpy.allclose(found, a * b + 1)
assert numpy.allclose(found_sums, a.reshape(100, 100).sum(1))
print("as NumPy")
