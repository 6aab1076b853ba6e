"""Pictures by WebGPU, on Vulkan and then on OpenGL: a texture that is uploaded, drawn into a target by indexed triangles with depth, and read back."""
import numpy
import wgpu
from wgpu.backends.wgpu_native.extras import set_instance_extras

# wgpu takes drivers without a proof of conformance (RADV's before gfx8) only so; else it draws by OpenGL there.
set_instance_extras(flags=["Default", "AllowUnderlyingNoncompliantAdapter"])
SIZE = 64
SHADER = """
struct Out { @builtin(position) place: vec4f, @location(0) at: vec2f };
@group(0) @binding(0) var image: texture_2d<f32>;
@group(0) @binding(1) var smooth_: sampler;
@vertex fn vertex(@location(0) place: vec3f, @builtin(instance_index) instance: u32) -> Out {
  var out: Out;
  out.place = vec4f(place.xy, place.z + f32(instance) * 0.25, 1.0);
  out.at = place.xy * vec2f(0.5, -0.5) + 0.5;
  return out;
}
@fragment fn pixel(in: Out) -> @location(0) vec4f {
  let texel = textureSample(image, smooth_, in.at);
  if (texel.a < 0.25) { discard; }
  return vec4f(texel.rgb, in.place.z);
}"""


def draw(adapter):
    device = adapter.request_device_sync()
    usage = wgpu.TextureUsage
    texels = numpy.random.default_rng(2).integers(0, 256, (SIZE, SIZE, 4)).astype(numpy.uint8)
    image = device.create_texture(size=(SIZE, SIZE, 1), format="rgba8unorm", usage=usage.COPY_DST | usage.TEXTURE_BINDING)
    device.queue.write_texture({"texture": image}, texels.tobytes(), {"bytes_per_row": 4 * SIZE}, (SIZE, SIZE, 1))
    target = device.create_texture(size=(SIZE, SIZE, 1), format="rgba8unorm", usage=usage.COPY_SRC | usage.RENDER_ATTACHMENT)
    depth = device.create_texture(size=(SIZE, SIZE, 1), format="depth32float", usage=usage.RENDER_ATTACHMENT)
    module = device.create_shader_module(code=SHADER)
    pipeline = device.create_render_pipeline(
        layout="auto",
        vertex={"module": module, "entry_point": "vertex", "buffers": [
            {"array_stride": 12, "attributes": [{"format": "float32x3", "offset": 0, "shader_location": 0}]}]},
        primitive={"topology": "triangle-list", "front_face": "ccw", "cull_mode": "back"},
        depth_stencil={"format": "depth32float", "depth_write_enabled": True, "depth_compare": "less"},
        fragment={"module": module, "entry_point": "pixel", "targets": [{"format": "rgba8unorm"}]})
    sampler = device.create_sampler(mag_filter="nearest", min_filter="nearest")
    group = device.create_bind_group(layout=pipeline.get_bind_group_layout(0), entries=[
        {"binding": 0, "resource": image.create_view()}, {"binding": 1, "resource": sampler}])
    # A square of two triangles over all but the right eighth, and a triangle that is seen from behind.
    corners = numpy.array([[-1, -1, 0.5], [0.75, -1, 0.5], [0.75, 1, 0.5], [-1, 1, 0.5]], numpy.float32)
    vertices = device.create_buffer_with_data(data=corners.tobytes(), usage=wgpu.BufferUsage.VERTEX)
    numbers = numpy.array([0, 1, 2, 0, 2, 3, 2, 1, 0, 0], numpy.uint16)
    indices = device.create_buffer_with_data(data=numbers.tobytes(), usage=wgpu.BufferUsage.INDEX)
    encoder = device.create_command_encoder()
    render = encoder.begin_render_pass(
        color_attachments=[{"view": target.create_view(), "clear_value": (0, 1, 0, 1), "load_op": "clear", "store_op": "store"}],
        depth_stencil_attachment={"view": depth.create_view(), "depth_clear_value": 1.0, "depth_load_op": "clear", "depth_store_op": "store"})
    render.set_pipeline(pipeline)
    render.set_bind_group(0, group)
    render.set_vertex_buffer(0, vertices)
    render.set_index_buffer(indices, "uint16")
    render.draw_indexed(9, 2)
    render.end()
    device.queue.submit([encoder.finish()])
    picture = numpy.frombuffer(device.queue.read_texture({"texture": target}, {"bytes_per_row": 4 * SIZE}, (SIZE, SIZE, 1)), numpy.uint8)
    wanted = texels.copy()
    wanted[:, :, 3] = 128
    wanted[texels[:, :, 3] < 64] = [0, 255, 0, 255]
    wanted[:, SIZE * 7 // 8:] = [0, 255, 0, 255]
    assert (picture.reshape(SIZE, SIZE, 4) == wanted).all(), numpy.argwhere((picture.reshape(SIZE, SIZE, 4) != wanted).any(2))[:5]


adapters = {adapter.info["backend_type"]: adapter for adapter in wgpu.gpu.enumerate_adapters_sync()}
for backend in ("Vulkan", "OpenGL"):
    draw(adapters[backend])
print("as NumPy")
