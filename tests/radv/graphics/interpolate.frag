#version 450
layout(location = 0) in vec4 a;
layout(location = 1) noperspective in vec4 b;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;

void main()
{
   first = interpolateAtOffset(a, vec2(0.25, -0.125)) + interpolateAtCentroid(a);
   second = interpolateAtOffset(b, vec2(-0.375, 0.4375)) + b;
}
