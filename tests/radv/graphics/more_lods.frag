#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) uniform sampler2DArray sheets;
layout(set = 0, binding = 3) uniform samplerCube cube;
layout(set = 0, binding = 4) uniform sampler2DArrayShadow map;
layout(set = 0, binding = 5) uniform isampler3D numbers;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out vec4 third;
layout(location = 3) out ivec4 fourth;

void main()
{
   first = textureGradOffset(picture, a.xy, vec2(0.03, 0.0), vec2(0.0, 0.06), ivec2(3, -2)) +
           textureProjLod(picture, vec4(a.xy * b.w, 0.0, b.w), a.z * 2.0);
   second = textureOffset(sheets, vec3(a.xy, 1.7), ivec2(-4, 1), 0.5) + textureGrad(sheets, vec3(a.yx, 3.2), vec2(0.1, 0.02), vec2(0.02, 0.05));
   third = textureGrad(cube, b.xyz, vec3(0.05, 0.0, 0.02), vec3(0.0, 0.07, 0.01)) + texture(cube, b.zxy, 1.0);
   third.x += textureGrad(map, vec4(a.xy, 1.0, 0.45), vec2(0.01), vec2(0.01));
   fourth = textureLod(numbers, a.xyz, 0.0) + texelFetch(numbers, ivec3(gl_FragCoord.xy, 5) & 7, 0);
}
