#version 450
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 first;

void main()
{
   gl_FragDepth = a.x * 0.5 + fract(a.y * 8.0) * 0.25;
   first = a;
   if (fract(a.z * 6.0) > 0.7)
      discard;
}
