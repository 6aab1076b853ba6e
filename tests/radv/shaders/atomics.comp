// Atomics in memory and in shared memory, whose results do not depend on an order.
#version 450
layout(local_size_x = 96) in;
layout(set = 0, binding = 0) readonly buffer In { uint numbers[]; };
layout(set = 0, binding = 1) buffer Out {
   uint histogram[16];
   uint sum, least, most, all, some, parity, tickets, last;
   int lowest, highest;
   uint seen[];
};
shared uint counts[16];

void main()
{
   uint i = gl_LocalInvocationIndex, n = numbers[gl_GlobalInvocationID.x];
   if (i < 16)
      counts[i] = 0;
   barrier();
   atomicAdd(counts[n & 15], 1);
   barrier();
   if (i < 16)
      atomicAdd(histogram[i], counts[i]);
   atomicAdd(sum, n);
   atomicMin(least, n);
   atomicMax(most, n);
   atomicAnd(all, n | 0xff);
   atomicOr(some, n & 0xff);
   atomicXor(parity, n);
   atomicMin(lowest, int(n));
   atomicMax(highest, int(n));
   // Each ticket is given once; threads that try again in turn.
   seen[atomicAdd(tickets, 1)] += 1;
   uint old = last, assumed;
   do {
      assumed = old;
      old = atomicCompSwap(last, assumed, assumed + (n & 7));
   } while (old != assumed);
}
