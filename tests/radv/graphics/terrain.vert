#version 450
// A grid that a height map raises; normals from the heights beside.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 first;
layout(set = 0, binding = 1) uniform sampler2D heights;
layout(set = 0, binding = 2) uniform sampler2DArray ground;
layout(location = 0) out vec4 placed;
layout(location = 1) out vec4 outward;
layout(location = 2) flat out uvec4 kind;

float raised(ivec2 p)
{
   ivec2 size = textureSize(heights, 0);
   return texelFetch(heights, clamp(p, ivec2(0), size - 1), 0).r;
}

void main()
{
   ivec2 p = ivec2(first.xy);
   float h = raised(p);
   vec2 slope = vec2(raised(p + ivec2(1, 0)) - raised(p - ivec2(1, 0)), raised(p + ivec2(0, 1)) - raised(p - ivec2(0, 1)));
   float w = position.w;
   gl_Position = vec4(position.x, position.y - 0.5 * h * w, position.z, w);
   placed = vec4(first.zw, h, w);
   outward = vec4(-slope, 0.25, textureLod(ground, vec3(0.5, 0.5, 1.0), 9.0).r);
   kind = uvec4(p.x & 3, p.y & 1, gl_VertexIndex, textureSize(ground, 0).z);
}
