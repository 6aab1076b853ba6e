#version 450
layout(location = 0) in vec4 a;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(location = 0) out vec4 first;

void main()
{
   first = vec4(textureQueryLod(picture, a.xy * 3.0), textureQueryLod(picture, a.zw));
}
