// Threads that go different ways: nested loops with exits in the middle, a switch.
#version 450
layout(local_size_x = 13, local_size_y = 11) in;
layout(set = 0, binding = 0) readonly buffer In { uint numbers[]; };
layout(set = 0, binding = 1) buffer Out { uint result[]; };

void main()
{
   uint id = gl_WorkGroupID.x * 143 + gl_LocalInvocationIndex;
   uint n = numbers[id], steps = 0, sum = 0;
   while (n != 1) {
      if (steps++ > 60)
         break;
      if ((n & 1) == 0) {
         n /= 2;
         continue;
      }
      n = 3 * n + 1;
      for (uint k = 0; k < 10; k++) {
         if (k * k > (n & 63))
            break;
         if ((k & 1) != 0)
            continue;
         sum += k;
      }
   }
   switch (numbers[id] % 5) {
   case 0:
      sum ^= 0xff;
      break;
   case 1:
      sum *= 3;
   case 2:
      sum += 1000;
      break;
   case 4:
      sum = sum % 17;
   }
   result[id] = sum * 100 + steps;
}
