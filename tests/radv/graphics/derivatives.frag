#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out vec4 third;

void main()
{
   float bent = a.x * a.x + sin(b.y * 3.0);
   first = vec4(dFdx(bent), dFdy(bent), fwidth(bent), dFdx(a.z));
   second = vec4(dFdxFine(bent), dFdyFine(bent), fwidthFine(b.x), dFdyFine(a.w));
   vec3 across = cross(dFdx(a.xyz), dFdy(b.xyz));
   third = vec4(across, 1.0);
   if (a.x > 0.5)
      third.w = length(vec2(dFdxCoarse(b.w), dFdyCoarse(b.z)));
}
