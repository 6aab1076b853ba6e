#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(set = 0, binding = 1) uniform sampler2DShadow map;
layout(set = 0, binding = 2) uniform sampler2DArrayShadow cascades;
layout(set = 0, binding = 3) uniform samplerCubeShadow point;
layout(location = 0) out vec4 colour;

void main()
{
   float sum = 0.0;
   for (int y = -1; y <= 1; y++)
      for (int x = -1; x <= 1; x++)
         sum += texture(map, vec3(a.xy + vec2(x, y) * (1.0 / 32.0), a.z));
   sum += textureOffset(map, a.xyz, ivec2(1, -2)) + textureProj(map, vec4(a.xyz * b.w, b.w));
   vec4 gathered = textureGather(map, a.xy, a.z);
   float cascade = texture(cascades, vec4(a.xy, floor(a.w * 3.0), a.z));
   float cube = texture(point, vec4(b.xyz, a.z));
   colour = vec4(sum / 11.0, dot(gathered, vec4(0.25)), cascade, cube + textureLod(map, a.xyz, 0.0));
}
