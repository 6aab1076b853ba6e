// Push constants: some that drivers keep in registers, some that they index in memory.
#version 450
layout(local_size_x = 64) in;
layout(push_constant) uniform Push {
   mat4 transform;
   vec4 weights[3];
   uint count;
};
layout(set = 0, binding = 0) readonly buffer In { vec4 points[]; };
layout(set = 0, binding = 1) buffer Out { vec4 result[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x;
   if (id >= count)
      return;
   precise vec4 p = points[id];
   precise vec4 sum = transform[0] * p.x;
   sum = sum + transform[1] * p.y;
   sum = sum + transform[2] * p.z;
   result[id] = sum * weights[gl_WorkGroupID.x % 3];
}
