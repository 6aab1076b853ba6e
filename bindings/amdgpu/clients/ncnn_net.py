"""A small convolutional net by ncnn: Vulkan against ncnn's own CPU code. Run in a folder that may be written to."""
import ncnn
import numpy

LAYERS = """7767517
4 4
Input in 0 1 in
Convolution c1 1 1 in a 0=16 1=3 4=1 5=1 6=432 9=1
Convolution c2 1 1 a b 0=8 1=1 5=1 6=128
Pooling p 1 1 b out 0=1 1=2 2=2
"""

random = numpy.random.default_rng(3)


def weights(count):
    return bytes(4) + (random.standard_normal(count) * 0.2).astype(numpy.float32).tobytes()


def biases(count):
    return random.standard_normal(count).astype(numpy.float32).tobytes()


with open("net.param", "w") as file:
    file.write(LAYERS)
with open("net.bin", "wb") as file:
    file.write(weights(432) + biases(16) + weights(128) + biases(8))
picture = random.standard_normal((3, 24, 24)).astype(numpy.float32)


def run(vulkan):
    net = ncnn.Net()
    net.opt.use_vulkan_compute = vulkan
    net.opt.use_fp16_packed = net.opt.use_fp16_storage = net.opt.use_fp16_arithmetic = False
    net.load_param("net.param")
    net.load_model("net.bin")
    extractor = net.create_extractor()
    extractor.input("in", ncnn.Mat(picture))
    return numpy.array(extractor.extract("out")[1])


assert ncnn.get_gpu_count() > 0
difference = numpy.abs(run(False) - run(True)).max()
assert difference < 1e-5, difference
print(f"difference {difference:.1e}")
