#version 450
layout(early_fragment_tests) in;
layout(location = 0) in vec4 a;
layout(set = 0, binding = 1, rgba8) uniform writeonly image2D picture;
layout(set = 0, binding = 2, r32ui) uniform uimage2D counts;
layout(set = 0, binding = 3, std430) buffer Sums { uint total; uint most; uint bins[16]; };
layout(location = 0) out vec4 first;

void main()
{
   ivec2 at = ivec2(gl_FragCoord.xy);
   imageStore(picture, at, vec4(at.x & 1, at.y & 1, 1.0, 0.0));
   imageAtomicAdd(counts, at >> 2, uint(at.x));
   atomicAdd(total, 1u);
   atomicMax(most, uint(at.x * 64 + at.y));
   atomicAdd(bins[at.x & 15], uint(at.y));
   first = a;
}
