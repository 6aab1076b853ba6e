"""A cube with a texture, depth and four samples a pixel: WebGPU, against Mesa's lavapipe."""
import os
import subprocess
import sys

import numpy as np
import wgpu
from wgpu.backends.wgpu_native.extras import set_instance_extras

# wgpu takes drivers without a proof of conformance (RADV's before gfx8) only so; else it draws by OpenGL there.
set_instance_extras(flags=["Default", "AllowUnderlyingNoncompliantAdapter"])
LAVAPIPE = f"/usr/share/vulkan/icd.d/lvp_icd.{os.uname().machine}.json"
SIZE, TEXELS = 192, 64
CODE = """
struct Uniforms { matrix: mat4x4<f32> };
@group(0) @binding(0) var<uniform> uniforms: Uniforms;
@group(0) @binding(1) var image: texture_2d<f32>;
@group(0) @binding(2) var linear: sampler;
struct Varying { @builtin(position) position: vec4<f32>, @location(0) uv: vec2<f32> };
@vertex fn vertex(@location(0) position: vec4<f32>, @location(1) uv: vec2<f32>) -> Varying {
    var result: Varying;
    result.position = uniforms.matrix * position;
    result.uv = uv;
    return result;
}
@fragment fn pixel(it: Varying) -> @location(0) vec4<f32> {
    let color = textureSample(image, linear, it.uv);
    return vec4<f32>(color.rgb * 0.8 + vec3<f32>(it.uv, 0.2) * 0.2, 1.0);
}
"""


def corners():
    for axis in range(3):
        for side in (-1, 1):
            for a, b in [(0, 0), (1, 0), (1, 1), (0, 0), (1, 1), (0, 1)]:
                place = [0.0, 0.0, 0.0, 1.0]
                place[axis], place[(axis + 1) % 3], place[(axis + 2) % 3] = side, 2 * a - 1, (2 * b - 1) * side
                yield place + [a, b]


def turn(angle, i, j):
    matrix = np.eye(4)
    matrix[i, i] = matrix[j, j] = np.cos(angle)
    matrix[i, j], matrix[j, i] = -np.sin(angle), np.sin(angle)
    return matrix


def matrix():
    near, far = 0.1, 20
    projection = np.diag([1.8, 1.8, far / (near - far), 0])
    projection[2, 3], projection[3, 2] = near * far / (near - far), -1
    view = np.eye(4)
    view[2, 3] = -4.5
    return (projection @ view @ turn(0.6, 0, 2) @ turn(0.5, 1, 2)).T.astype("f4").copy()


def texels():
    y, x = np.mgrid[0:TEXELS, 0:TEXELS]
    return np.stack([(x // 8 + y // 8) % 2 * 255, x * 4, y * 4, x * 0 + 255], -1).astype("u1")


def draw(samples):
    adapter = wgpu.gpu.request_adapter_sync(power_preference="high-performance")
    device = adapter.request_device_sync()
    module = device.create_shader_module(code=CODE)
    vertices = device.create_buffer_with_data(data=np.array(list(corners()), "f4"), usage=wgpu.BufferUsage.VERTEX)
    uniforms = device.create_buffer_with_data(data=matrix(), usage=wgpu.BufferUsage.UNIFORM)
    use = wgpu.TextureUsage
    image = device.create_texture(
        size=(TEXELS, TEXELS, 1), format="rgba8unorm", usage=use.TEXTURE_BINDING | use.COPY_DST
    )
    layout = {"bytes_per_row": TEXELS * 4, "rows_per_image": TEXELS}
    device.queue.write_texture({"texture": image}, texels(), layout, (TEXELS, TEXELS, 1))
    attributes = [
        {"format": "float32x4", "offset": 0, "shader_location": 0},
        {"format": "float32x2", "offset": 16, "shader_location": 1},
    ]
    pipeline = device.create_render_pipeline(
        layout="auto",
        vertex={
            "module": module,
            "entry_point": "vertex",
            "buffers": [{"array_stride": 24, "step_mode": "vertex", "attributes": attributes}],
        },
        primitive={"topology": "triangle-list"},
        depth_stencil={"format": "depth24plus", "depth_write_enabled": True, "depth_compare": "less"},
        multisample={"count": samples},
        fragment={"module": module, "entry_point": "pixel", "targets": [{"format": "rgba8unorm"}]},
    )
    group = device.create_bind_group(
        layout=pipeline.get_bind_group_layout(0),
        entries=[
            {"binding": 0, "resource": {"buffer": uniforms}},
            {"binding": 1, "resource": image.create_view()},
            {"binding": 2, "resource": device.create_sampler(mag_filter="linear", min_filter="linear")},
        ],
    )

    def target(format, count):
        usage = use.RENDER_ATTACHMENT | (use.COPY_SRC if count == 1 else 0)
        return device.create_texture(size=(SIZE, SIZE, 1), format=format, sample_count=count, usage=usage)

    result, depth = target("rgba8unorm", 1), target("depth24plus", samples)
    color = {"clear_value": (0.1, 0.2, 0.3, 1), "load_op": "clear", "store_op": "store", "view": result.create_view()}
    if samples > 1:
        color["view"], color["resolve_target"] = target("rgba8unorm", samples).create_view(), color["view"]
    depth_attachment = {
        "view": depth.create_view(),
        "depth_clear_value": 1,
        "depth_load_op": "clear",
        "depth_store_op": "store",
    }
    encoder = device.create_command_encoder()
    render = encoder.begin_render_pass(color_attachments=[color], depth_stencil_attachment=depth_attachment)
    render.set_pipeline(pipeline)
    render.set_bind_group(0, group)
    render.set_vertex_buffer(0, vertices)
    render.draw(36)
    render.end()
    device.queue.submit([encoder.finish()])
    layout = {"bytes_per_row": SIZE * 4, "rows_per_image": SIZE}
    picture = device.queue.read_texture({"texture": result}, layout, (SIZE, SIZE, 1))
    return np.frombuffer(picture, "u1").reshape(SIZE, SIZE, 4)


if len(sys.argv) > 2:
    np.save(sys.argv[1], draw(int(sys.argv[2])))
    sys.exit(0)
result = draw(4)
path = os.path.abspath("wgpu_cube_wanted.npy")
surroundings = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
surroundings |= {"VK_ICD_FILENAMES": LAVAPIPE, "VK_DRIVER_FILES": LAVAPIPE}
subprocess.run([sys.executable, __file__, path, "4"], env=surroundings, check=True, stderr=subprocess.DEVNULL)
difference = np.abs(result.astype(int) - np.load(path).astype(int))
# Sides of triangles and texels may fall a little to the one or the other side.
assert difference.mean() < 0.5 and (difference > 4).mean() < 0.001, (difference.mean(), difference.max())
print(f"mean difference {difference.mean():.2f} of 255 from lavapipe")
