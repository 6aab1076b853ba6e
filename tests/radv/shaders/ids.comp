// All numbers of a thread, in three dimensions of odd sizes: the last subgroup is not full.
#version 450
layout(local_size_x = 5, local_size_y = 3, local_size_z = 7) in;
layout(set = 0, binding = 0) buffer Out { uvec4 result[]; };

void main()
{
   uvec3 size = gl_NumWorkGroups * gl_WorkGroupSize;
   uvec3 id = gl_GlobalInvocationID;
   uint at = id.x + size.x * (id.y + size.y * id.z);
   result[2 * at] = uvec4(gl_WorkGroupID, gl_LocalInvocationIndex);
   result[2 * at + 1] = uvec4(gl_LocalInvocationID, gl_NumWorkGroups.x | gl_NumWorkGroups.y << 8 | gl_NumWorkGroups.z << 16);
}
