#version 450
layout(local_size_x = 8, local_size_y = 8) in;
layout(set = 0, binding = 0, std430) buffer Out { vec4 result[]; };
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) uniform sampler2DShadow map;
layout(set = 0, binding = 3) uniform sampler3D solid;
layout(set = 0, binding = 4) uniform samplerCube cube;
layout(push_constant) uniform Push { vec2 scale; float level; } push;

void main()
{
   vec2 at = (vec2(gl_GlobalInvocationID.xy) + 0.3) * push.scale;
   uint n = gl_GlobalInvocationID.y * gl_NumWorkGroups.x * 8 + gl_GlobalInvocationID.x;
   vec4 sum = textureLod(picture, at, push.level + at.x) + textureGather(picture, at, 1) * 0.25;
   sum.x += textureLod(map, vec3(at, 0.4), 0.0);
   sum += textureLod(solid, vec3(at, at.x * at.y), 0.0) + textureLod(cube, vec3(at - 0.5, 0.4), 0.0);
   sum += textureGrad(picture, at, vec2(0.1, 0.0), vec2(0.0, 0.05));
   result[n] = sum;
}
