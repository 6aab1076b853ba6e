// Subgroup operations whose results are the same for subgroups of all sizes that divide 64.
#version 450
#extension GL_KHR_shader_subgroup_basic : require
#extension GL_KHR_shader_subgroup_vote : require
#extension GL_KHR_shader_subgroup_ballot : require
#extension GL_KHR_shader_subgroup_arithmetic : require
#extension GL_KHR_shader_subgroup_shuffle : require
#extension GL_KHR_shader_subgroup_quad : require
layout(local_size_x = 192) in;
layout(set = 0, binding = 0) readonly buffer In { uint numbers[]; };
layout(set = 0, binding = 1) buffer Out { uvec4 result[]; };
shared uint sums[192], mosts[192];

void main()
{
   uint i = gl_LocalInvocationIndex, n = numbers[gl_GlobalInvocationID.x];
   // The number of the subgroup is right if threads are in order.
   uint order = gl_SubgroupID * gl_SubgroupSize + gl_SubgroupInvocationID == i &&
      gl_NumSubgroups * gl_SubgroupSize == 192 ? 1 : 0;
   uint sum = subgroupAdd(n), most = subgroupMax(n ^ 0x5555);
   uint behind = subgroupInclusiveAdd(n), before = subgroupExclusiveAdd(n);
   uvec4 odd = subgroupBallot((n & 1) != 0);
   uint odd_before = subgroupBallotExclusiveBitCount(odd), odd_all = subgroupBallotBitCount(odd);
   uint mirrored = subgroupShuffle(n, gl_SubgroupInvocationID ^ 5);
   uint next = subgroupQuadSwapHorizontal(n) + 3 * subgroupQuadSwapVertical(n) + 5 * subgroupQuadBroadcast(n, 2);
   bool any = subgroupAny(n == 0xffffffff), every = subgroupAll(n < 0x80000000);
   if (subgroupElect())
      sums[gl_SubgroupID] = sum, mosts[gl_SubgroupID] = most, sums[100 + gl_SubgroupID % 92] = odd_all;
   barrier();
   uint total = 0, greatest = 0;
   for (uint s = 0; s < gl_NumSubgroups; s++)
      total += sums[s], greatest = max(greatest, mosts[s]);
   uint earlier = 0;
   for (uint s = 0; s < gl_SubgroupID; s++)
      earlier += sums[s];
   result[2 * gl_GlobalInvocationID.x] = uvec4(order | uint(any) << 1 | uint(every) << 2, total, greatest, earlier + behind);
   result[2 * gl_GlobalInvocationID.x + 1] = uvec4(behind - before, mirrored, next, odd_before <= odd_all ? 1 : 0);
}
