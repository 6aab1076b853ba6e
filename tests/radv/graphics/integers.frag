#version 450
layout(location = 0) in vec4 a;
layout(set = 0, binding = 1) uniform usampler2D bytes;
layout(set = 0, binding = 2) uniform isampler2D shorts;
layout(set = 0, binding = 3) uniform usampler2D wide;
layout(location = 0) out uvec4 first;
layout(location = 1) out ivec4 second;

void main()
{
   first = texture(bytes, a.xy) + textureLod(wide, a.xy, 0.0);
   second = texture(shorts, a.yx) * 2 - ivec4(texelFetch(wide, ivec2(gl_FragCoord.yx) & 15, 0).x >> 28);
}
