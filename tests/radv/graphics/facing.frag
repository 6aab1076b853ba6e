#version 450
layout(location = 0) in vec4 a;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;

void main()
{
   first = gl_FrontFacing ? a : vec4(1.0) - a.wzyx;
   second = gl_FragCoord + vec4(gl_HelperInvocation ? 100.0 : 0.0);
   if (!gl_FrontFacing)
      second.x += float(gl_SampleMaskIn[0]);
}
