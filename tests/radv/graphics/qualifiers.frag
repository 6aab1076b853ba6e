#version 450
layout(location = 0) in vec4 smoothly;
layout(location = 1) noperspective in vec4 linearly;
layout(location = 2) flat in vec4 flatly;
layout(location = 3) centroid in vec4 inside;
layout(location = 4) flat in ivec4 number;
layout(location = 5) noperspective centroid in vec4 both;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out ivec4 third;
layout(location = 3) out vec4 fourth;

void main()
{
   first = smoothly + linearly;
   second = flatly * inside;
   third = number + ivec4(gl_FragCoord.xyxy);
   fourth = both + vec4(0.0, 0.0, gl_FragCoord.z, gl_FragCoord.w);
}
