#version 450
layout(location = 0) in vec4 position;
layout(location = 1) in vec4 first;
layout(location = 2) in vec4 second;
layout(location = 0) out vec4 smoothly;
layout(location = 1) noperspective out vec4 linearly;
layout(location = 2) flat out vec4 flatly;
layout(location = 3) centroid out vec4 inside;
layout(location = 4) flat out ivec4 number;
layout(location = 5) noperspective centroid out vec4 both;

void main()
{
   gl_Position = position;
   smoothly = first;
   linearly = first.wzyx;
   flatly = second;
   inside = second.yxwz;
   number = ivec4(gl_VertexIndex * 3, -gl_VertexIndex, int(first.x * 10.0), 77);
   both = first * second;
}
