// Prefix sums in shared memory, with barriers between the steps, and the last one of each workgroup.
#version 450
layout(local_size_x = 200) in;
layout(set = 0, binding = 0) readonly buffer In { uint numbers[]; };
layout(set = 0, binding = 1) buffer Sums { uint sums[]; };
layout(set = 0, binding = 2) buffer Totals { uint totals[]; };
shared uint parts[2][200];

void main()
{
   uint i = gl_LocalInvocationID.x, from = 0;
   parts[0][i] = numbers[gl_GlobalInvocationID.x];
   barrier();
   for (uint step = 1; step < 200; step *= 2) {
      parts[1 - from][i] = parts[from][i] + (i >= step ? parts[from][i - step] : 0);
      from = 1 - from;
      barrier();
   }
   sums[gl_GlobalInvocationID.x] = parts[from][i];
   if (i == 199)
      totals[gl_WorkGroupID.x] = parts[from][i];
}
