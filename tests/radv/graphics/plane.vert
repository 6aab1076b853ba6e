#version 450
// Passes on what the vertex has; FLAT, LINEAR: how the second one is interpolated.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 first;
layout(location = 0) out vec4 a;
#ifdef TWO
layout(location = 2) in vec4 second;
layout(location = 1) out vec4 b;
#endif

void main()
{
   gl_Position = position;
   a = first;
#ifdef TWO
   b = second;
#endif
}
