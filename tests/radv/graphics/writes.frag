#version 450
layout(location = 0) in vec4 a;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2, r32ui) uniform uimage2D counts;
layout(set = 0, binding = 3, std430) buffer Sums { uint living; uint all; uint lod; uint before[64 * 64]; };
layout(set = 0, binding = 4, rgba32f) uniform readonly image2D start;
layout(location = 0) out vec4 first;

void main()
{
   ivec2 at = ivec2(gl_FragCoord.xy);
   atomicAdd(all, 1u);
   if ((at.x + at.y) % 3 == 0)
      discard;
   atomicAdd(living, 1u);
   before[at.y * 64 + at.x] = imageAtomicExchange(counts, at, uint(at.x * at.y + 1));
   first = a + imageLoad(start, at >> 1);
}
