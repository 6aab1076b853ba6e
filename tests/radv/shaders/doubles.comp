// Doubles: sums, products, quotients, roots, conversions and comparisons.
#version 450
layout(local_size_x = 50) in;
layout(set = 0, binding = 0) readonly buffer In { double numbers[]; };
layout(set = 0, binding = 1) buffer Out { double result[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x;
   precise double a = numbers[2 * id], b = numbers[2 * id + 1];
   precise double sum = a + b, product = a * b, quotient = a / b, root = sqrt(abs(a));
   result[8 * id] = sum;
   result[8 * id + 1] = product;
   result[8 * id + 2] = quotient;
   result[8 * id + 3] = root;
   result[8 * id + 4] = floor(a) + double(int(b)) + double(float(a));
   result[8 * id + 5] = fma(a, b, sum);
   result[8 * id + 6] = a < b ? min(a, b) : max(a, -b);
   result[8 * id + 7] = fract(abs(a)) + trunc(b) + double(uint(abs(b)) % 1000);
}
