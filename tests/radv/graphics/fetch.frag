#version 450
layout(location = 0) in vec4 a;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) uniform sampler2DArray sheets;
layout(set = 0, binding = 3) uniform isampler2D numbers;
layout(set = 0, binding = 4) uniform sampler3D solid;
layout(set = 0, binding = 5) uniform samplerCube cube;
layout(location = 0) out vec4 first;
layout(location = 1) out ivec4 second;
layout(location = 2) out ivec4 third;
layout(location = 3) out vec4 fourth;

void main()
{
   ivec2 at = ivec2(gl_FragCoord.xy);
   int level = (at.x >> 4) & 3;
   first = texelFetch(picture, (at >> level) & 15, level) + texelFetch(sheets, ivec3(at & 7, at.y & 3), 0);
   second = texelFetch(numbers, at & 15, 0) + texelFetchOffset(numbers, at & 7, 0, ivec2(3, 2));
   third = ivec4(textureSize(picture, level), textureSize(sheets, 1).z, textureQueryLevels(picture)) +
           ivec4(textureSize(solid, 0), textureSize(cube, 0).x);
   fourth = texelFetch(solid, ivec3(at, at.x + at.y) & 7, 0) + 0.0 * a;
}
