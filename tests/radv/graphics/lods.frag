#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) uniform samplerCube cube;
layout(set = 0, binding = 3) uniform sampler3D solid;
layout(set = 0, binding = 4) uniform sampler2D clamped;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out vec4 third;
layout(location = 3) out vec4 fourth;

void main()
{
   first = textureLod(picture, a.xy, a.w * 4.0) + textureGrad(picture, a.yx, vec2(0.05, 0.01), vec2(0.0, 0.02 + 0.1 * a.z));
   second = textureOffset(picture, a.xy, ivec2(-2, 3)) + textureLodOffset(picture, a.xy, 1.0, ivec2(1, 1));
   third = texture(picture, a.xy, 1.25) + textureProj(picture, vec3(a.xy * b.w, b.w));
   fourth = textureLod(cube, b.xyz, 1.5) + textureGrad(solid, a.xyz, vec3(0.1), vec3(0.2)) + texture(clamped, a.xy * 1.5 - 0.25);
}
