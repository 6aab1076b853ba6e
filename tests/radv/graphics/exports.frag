#version 450
// Formats that targets want: exact values from the pixel's place, so that packed halves are exact as well.
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 unorm16;
layout(location = 1) out vec4 snorm16;
layout(location = 2) out uvec4 uint16;
layout(location = 3) out ivec4 sint16;
layout(location = 4) out vec2 float32;
layout(location = 5) out float one;
layout(location = 6) out uvec4 uint8;
layout(location = 7) out vec4 half4;

void main()
{
   uvec2 at = uvec2(gl_FragCoord.xy);
   uint bits = at.x * 257u + at.y * 4099u + (a.x > 100.0 ? 1u : 0u);
   unorm16 = vec4(float(bits & 0xffffu), float((bits * 3u) & 0xffffu), 70000.0, -3.0) / 65535.0;
   snorm16 = vec4(float(int(bits & 0x7fffu)), -float(int((bits * 5u) & 0x7fffu)), -40000.0, 40000.0) / 32767.0;
   uint16 = uvec4(bits & 0xffffu, bits >> 3, 70000u, 1u);
   sint16 = ivec4(int(bits & 0x7fffu), -int(bits & 0x3fffu), -40000, 40000);
   float32 = vec2(float(bits) * 0.125, -float(at.x));
   one = float(at.y) * 0.5;
   uint8 = uvec4(at, 200u, 7u);
   half4 = vec4(float(at.x) * 0.25, float(at.y) * 8.0, -0.5, 1024.0);
}
