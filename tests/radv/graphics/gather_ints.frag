#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(set = 0, binding = 1) uniform usamplerCube bytes;
layout(set = 0, binding = 2) uniform isampler2DArray words;
layout(set = 0, binding = 3) uniform usamplerCube wide;
layout(set = 0, binding = 4) uniform sampler2DArrayShadow map;
layout(location = 0) out uvec4 first;
layout(location = 1) out ivec4 second;
layout(location = 2) out uvec4 third;
layout(location = 3) out vec4 fourth;

void main()
{
   vec3 at = vec3(a.xy * 0.9 - 0.45, 0.8);
   first = textureGather(bytes, at, 0) + 256u * textureGather(bytes, at.zyx, 3);
   second = textureGather(words, vec3(a.xy, 2.0 * a.z), 0) + textureGatherOffset(words, vec3(a.yx, 1.0), ivec2(2, -1), 0);
   third = textureGather(wide, at.xzy, 0);
   fourth = textureGather(map, vec3(a.xy, 1.0), b.z) + textureGatherOffset(map, vec3(a.yx, 2.0), b.z, ivec2(-3, 2));
}
