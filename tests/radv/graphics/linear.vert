#version 450
// The second one is interpolated on the screen; clip distances and a point size beside the position.
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 first;
layout(location = 0) out vec4 a;

layout(location = 2) in vec4 second;
layout(location = 1) noperspective out vec4 b;


out gl_PerVertex { vec4 gl_Position; float gl_PointSize; float gl_ClipDistance[2]; };

void main()
{
   gl_Position = position;
   gl_ClipDistance[0] = 1.0 + first.x;
   gl_ClipDistance[1] = 2.0 - first.y * 0.5;
   gl_PointSize = 3.0;
   a = first;

   b = second;

}
