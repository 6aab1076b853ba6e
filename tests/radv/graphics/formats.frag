#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 2) flat in ivec4 c;
layout(location = 3) in vec4 d;
layout(location = 4) flat in uvec4 e;
layout(location = 0) out vec4 first;
layout(location = 1) out ivec4 second;
layout(location = 2) out uvec4 third;

void main()
{
   first = a + b * 0.5 + d * 0.25;
   second = c;
   third = e;
}
