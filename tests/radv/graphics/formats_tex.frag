#version 450
layout(location = 0) in vec4 a;
layout(set = 0, binding = 1) uniform sampler2D t1;
layout(set = 0, binding = 2) uniform sampler2D t2;
layout(set = 0, binding = 3) uniform sampler2D t3;
layout(set = 0, binding = 4) uniform sampler2D t4;
layout(set = 0, binding = 5) uniform sampler2D t5;
layout(set = 0, binding = 6) uniform sampler2D t6;
layout(set = 0, binding = 7) uniform sampler2D t7;
layout(set = 0, binding = 8) uniform sampler2D t8;
layout(location = 0) out vec4 first;
layout(location = 1) out vec4 second;
layout(location = 2) out vec4 third;
layout(location = 3) out vec4 fourth;

void main()
{
   first = texture(t1, a.xy) + 2.0 * texture(t2, a.xy);
   second = texture(t3, a.xy) + 2.0 * texture(t4, a.xy);
   third = texture(t5, a.xy) + 2.0 * texture(t6, a.xy);
   fourth = texture(t7, a.xy) + 2.0 * texture(t8, a.xy);
}
