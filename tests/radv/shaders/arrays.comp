// An array of each thread with indices that are not known beforehand: scratch.
#version 450
layout(local_size_x = 70) in;
layout(set = 0, binding = 0) readonly buffer In { uint keys[]; };
layout(set = 0, binding = 1) buffer Out { uint result[]; };
const uint COUNT = 72;

void main()
{
   uint list[COUNT];
   uint id = gl_GlobalInvocationID.x;
   for (uint n = 0; n < COUNT; n++)
      list[n] = n * 1000 + id;
   for (uint n = 0; n < 20; n++) {
      uint key = keys[(id * 7 + n * 13) % uint(keys.length())];
      uint from = key % COUNT, to = (key >> 8) % COUNT;
      uint moved = list[from];
      list[from] = list[to] + (key >> 28);
      list[to] = moved;
      // Threads go through it in different ways.
      while ((key & 1) != 0) {
         list[key % COUNT] ^= key;
         key >>= 1;
      }
   }
   for (uint n = 0; n < 5; n++)
      result[5 * id + n] = list[(n * 9 + id) % COUNT] + list[COUNT - 1 - n];
}
