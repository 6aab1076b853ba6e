// Specialization constants: the size of a workgroup, a loop's length, which code there is.
#version 450
layout(local_size_x_id = 0, local_size_y_id = 1) in;
layout(constant_id = 2) const uint ROUNDS = 1;
layout(constant_id = 3) const bool SQUARES = false;
layout(constant_id = 4) const float SCALE = 1.0;
layout(set = 0, binding = 0) buffer Data { uint data[]; };
layout(set = 0, binding = 1) buffer Floats { float floats[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x + gl_NumWorkGroups.x * gl_WorkGroupSize.x * gl_GlobalInvocationID.y;
   uint n = data[id];
   for (uint round = 0; round < ROUNDS; round++)
      n = SQUARES ? n * n + round : n * 5 + round;
   data[id] = n;
   floats[id] = float(n & 0xffff) * SCALE;
}
