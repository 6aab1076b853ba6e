#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(set = 0, binding = 1) uniform sampler1D line;
layout(set = 0, binding = 2) uniform sampler1DArray lines;
layout(set = 0, binding = 3) uniform sampler2DArray sheets;
layout(set = 0, binding = 4) uniform sampler3D solid;
layout(set = 0, binding = 5) uniform samplerCube cube;
layout(set = 0, binding = 6) uniform samplerCubeArray cubes;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out vec4 third;

void main()
{
   first = texture(line, a.x) + texture(lines, vec2(a.y, a.w * 2.9 - 0.2));
   second = texture(sheets, vec3(a.xy, a.w * 4.4 - 0.5)) + texture(solid, a.xyz);
   third = texture(cube, b.xyz) + texture(cubes, vec4(b.zxy, step(0.5, a.w)));
}
