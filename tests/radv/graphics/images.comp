#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, rgba8) uniform image2D bytes;
layout(set = 0, binding = 1, rgba16f) uniform image2D halves;
layout(set = 0, binding = 2, r32ui) uniform uimage2D counts;
layout(set = 0, binding = 3, r32i) uniform iimage2DArray layers;
layout(set = 0, binding = 4, rgba32f) uniform image3D solid;
layout(set = 0, binding = 5, rg16i) uniform iimage2D shorts;

void main()
{
   ivec2 at = ivec2(gl_GlobalInvocationID.xy);
   ivec2 size = imageSize(bytes);
   vec4 texel = imageLoad(bytes, size - 1 - at);
   imageStore(halves, at, imageLoad(halves, at) * 0.5 + floor(texel * 4.0));
   imageAtomicAdd(counts, at & 7, uint(at.x));
   imageAtomicMax(counts, (at & 7) + 8, uint(at.y * 3));
   uint before = imageAtomicExchange(counts, at + ivec2(16, 0), uint(at.x ^ at.y));
   imageAtomicCompSwap(counts, at + ivec2(16, 0), uint(at.y), before + 7u);
   imageStore(layers, ivec3(at, at.x & 3), ivec4(at.x * at.y - imageSize(layers).z));
   imageStore(solid, ivec3(at & 7, at.x >> 3 | at.y >> 3 << 1), vec4(texel.xyz, 1.0));
   imageStore(shorts, at, imageLoad(shorts, at).yxwz - ivec4(at, 0, 0));
}
