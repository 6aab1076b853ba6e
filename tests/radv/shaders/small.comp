// Numbers of 8 and 16 bits in memory, and halves in words.
#version 450
#extension GL_EXT_shader_8bit_storage : require
#extension GL_EXT_shader_16bit_storage : require
#extension GL_EXT_shader_explicit_arithmetic_types_int32 : require
layout(local_size_x = 75) in;
layout(set = 0, binding = 0) buffer Bytes { int8_t bytes[]; };
layout(set = 0, binding = 1) buffer Shorts { uint16_t shorts[]; };
layout(set = 0, binding = 2) buffer Words { uint words[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x;
   int byte = int(bytes[id]);
   uint word = uint(shorts[id]);
   bytes[id] = int8_t(byte * 3 - 7);
   shorts[id] = uint16_t(word * word + uint(byte));
   vec2 halves = unpackHalf2x16(words[id]);
   words[id] = packHalf2x16(vec2(halves.x + 0.5, halves.y * 2.0));
}
