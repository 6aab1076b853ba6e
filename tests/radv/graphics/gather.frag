#version 450
layout(location = 0) in vec4 a;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) uniform sampler2DArray sheets;
layout(set = 0, binding = 3) uniform usampler2D numbers;
layout(set = 0, binding = 4) uniform samplerCube cube;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out uvec4 third;
layout(location = 3) out vec4 fourth;

void main()
{
   first = textureGather(picture, a.xy, 0) + 2.0 * textureGather(picture, a.xy, 3);
   const ivec2 places[4] = ivec2[](ivec2(-3, 2), ivec2(5, 0), ivec2(0, -7), ivec2(1, 1));
   second = textureGatherOffset(picture, a.xy, ivec2(3, -4), 1) + textureGatherOffsets(picture, a.xy, places, 2);
   third = textureGather(numbers, a.xy, 0) + 1000u * textureGather(numbers, a.yx, 2);
   fourth = textureGather(sheets, vec3(a.xy, 2.0 * a.z), 1) + textureGather(cube, vec3(a.xy - 0.5, 0.9), 0);
}
