// Arithmetic of 16 bits.
#version 450
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_float16 : require
#extension GL_EXT_shader_explicit_arithmetic_types_int16 : require
layout(local_size_x = 40) in;
layout(set = 0, binding = 0) readonly buffer In { f16vec2 numbers[]; };
layout(set = 0, binding = 1) buffer Out { f16vec2 result[]; };
layout(set = 0, binding = 2) buffer Ints { i16vec2 ints[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x;
   precise f16vec2 a = numbers[2 * id], b = numbers[2 * id + 1];
   precise f16vec2 sum = a + b, product = a * b;
   result[4 * id] = sum;
   result[4 * id + 1] = product;
   result[4 * id + 2] = max(a, -b);
   result[4 * id + 3] = f16vec2(a.x < b.x ? a.y : b.y, abs(b.x));
   i16vec2 n = ints[id];
   ints[id] = (n + n.yx) * i16vec2(3s, -5s) ^ (n >> i16vec2(2s));
}
