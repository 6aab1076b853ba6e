// Functions that hardware and drivers approximate.
#version 450
layout(local_size_x = 128) in;
layout(set = 0, binding = 0) readonly buffer In { float numbers[]; };
layout(set = 0, binding = 1) buffer Out { float result[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x;
   float x = numbers[id], p = abs(x) + 0.01;
   result[12 * id] = sin(x);
   result[12 * id + 1] = cos(x);
   result[12 * id + 2] = exp(x * 0.5);
   result[12 * id + 3] = log(p);
   result[12 * id + 4] = pow(p, 1.5);
   result[12 * id + 5] = sqrt(p);
   result[12 * id + 6] = inversesqrt(p);
   result[12 * id + 7] = 1.0 / p;
   result[12 * id + 8] = atan(x);
   result[12 * id + 9] = tanh(x * 0.25);
   result[12 * id + 10] = length(vec3(x, p, 1.0));
   result[12 * id + 11] = exp2(x * 0.25) + log2(p);
}
