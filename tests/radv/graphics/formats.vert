#version 450
// Formats of vertex attributes, and what there is without any.
layout(location = 0) in vec4 unorm8;
layout(location = 1) in vec4 snorm16;
layout(location = 2) in ivec4 sint8;
layout(location = 3) in uvec2 uint16;
layout(location = 4) in vec4 half4;
layout(location = 5) in vec4 ten;
layout(location = 6) in vec3 three;
layout(location = 7) in uint one;
layout(location = 8) in vec2 scaled;
layout(push_constant) uniform Push { vec4 scale; ivec2 more; } push;
layout(location = 0) out vec4 a;
layout(location = 1) out vec4 b;
layout(location = 2) flat out ivec4 c;
layout(location = 3) out vec4 d;
layout(location = 4) flat out uvec4 e;

void main()
{
   gl_Position = vec4(three.xy * push.scale.xy + push.scale.zw, 0.25 + 0.001 * float(gl_VertexIndex), 1.0 + 0.1 * three.z);
   a = unorm8 + ten;
   b = snorm16 * half4;
   c = sint8 * push.more.x + ivec4(gl_VertexIndex, gl_InstanceIndex, push.more.y, 3);
   d = vec4(scaled, sin(three.x), exp2(three.y));
   e = uvec4(uint16, one, bitfieldExtract(one, 4, 9) ^ 5u);
}
