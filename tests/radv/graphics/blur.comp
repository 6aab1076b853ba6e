#version 450
layout(local_size_x = 64) in;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2, rgba32f) uniform writeonly image2D result;
shared vec4 row[64 + 8];

void main()
{
   ivec2 at = ivec2(gl_GlobalInvocationID.xy);
   int n = int(gl_LocalInvocationID.x);
   ivec2 size = textureSize(picture, 0);
   row[n] = texelFetch(picture, clamp(at - ivec2(4, 0), ivec2(0), size - 1), 0);
   if (n < 8)
      row[n + 64] = texelFetch(picture, clamp(at + ivec2(60, 0), ivec2(0), size - 1), 0);
   barrier();
   vec4 sum = vec4(0.0);
   for (int i = 0; i < 9; i++)
      sum += row[n + i] * (5.0 - abs(float(i) - 4.0)) / 25.0;
   imageStore(result, at, sum);
}
