#version 450
// Layers by slope and height, one chosen by the primitive, a point light's shadow from an array of depth cubes.
layout(location = 0) in vec4 at;
layout(location = 1) in vec4 outward;
layout(location = 2) flat in uvec4 kind;
layout(set = 0, binding = 2) uniform sampler2DArray ground;
layout(set = 0, binding = 3) uniform samplerCubeArrayShadow shadows;
layout(location = 0) out vec4 colour;
layout(location = 1) out uvec4 which;

void main()
{
   vec3 n = normalize(outward.xyz);
   float steep = clamp(1.0 - n.z, 0.0, 1.0);
   vec2 uv = at.xy * 3.0;
   vec2 dx = dFdx(uv), dy = dFdy(uv);
   vec4 base = textureGrad(ground, vec3(uv, float(kind.x)), dx, dy);
   vec4 rock = texture(ground, vec3(uv * 0.5, 3.0));
   float lit = texture(shadows, vec4(at.xy - 0.5, at.z + 0.3, float(kind.y)), 0.5 + 0.1 * at.z);
   colour = mix(base, rock, steep) * (0.3 + 0.7 * lit) + 0.01 * outward.w;
   which = kind;
}
