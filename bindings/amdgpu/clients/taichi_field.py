"""A field of sines and an atomic sum by Taichi on Vulkan."""
import numpy
import taichi

taichi.init(arch=taichi.vulkan, offline_cache=False)
COUNT = 4096
field = taichi.field(taichi.f32, COUNT)
total = taichi.field(taichi.i32, ())


@taichi.kernel
def fill():
    for i in field:
        field[i] = taichi.sin(i * 0.01) * 2
        taichi.atomic_add(total[None], i)


fill()
taichi.sync()
wanted = numpy.sin(numpy.arange(COUNT, dtype=numpy.float32) * numpy.float32(0.01)) * 2
difference = numpy.abs(field.to_numpy() - wanted).max()
assert difference < 1e-4 and total[None] == COUNT * (COUNT - 1) // 2
print(f"difference {difference:.1e}")
