#version 450
// Integer and packing functions, transcendental ones.
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 0) out vec4 first;
layout(location = 1) out uvec4 second;
layout(location = 2) out vec4 third;

void main()
{
   uvec2 at = uvec2(gl_FragCoord.xy);
   uint bits = at.x * 2654435761u ^ at.y * 40503u;
   second = uvec4(bitfieldReverse(bits), bitCount(bits) | findMSB(bits) << 8 | findLSB(bits | 256u) << 16,
                  packUnorm4x8(vec4(at & 1u, at >> 5)), bits / (at.x + 3u) + bits % (at.y + 5u));
   vec2 half2 = unpackHalf2x16(packHalf2x16(vec2(at) * 0.125));
   first = vec4(half2, unpackSnorm2x16(bits));
   third = vec4(sin(a.x * 6.0), atan(b.y, a.z + 0.1), exp(-a.y) * log(1.5 + a.w), inversesqrt(0.3 + b.x * b.x)) +
           mod(a * 7.0, 2.0) * 0.1 + roundEven(b * 4.0) + smoothstep(0.2, 0.8, a);
}
