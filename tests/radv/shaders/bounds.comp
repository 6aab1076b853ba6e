// Accesses beyond the end of a buffer: loads give zero, stores and atomics do nothing. Lengths are those of the buffers.
#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) buffer Short { uint few[]; };
layout(set = 0, binding = 2) buffer Out { uint result[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x;
   uint found = data[id * 3];
   few[id * 5] = id + 1;
   if (id % 7 == 3)
      atomicAdd(few[id * 1000], 1);
   result[id] = found + uint(data.length()) * 1000 + uint(few.length()) * 1000000;
}
