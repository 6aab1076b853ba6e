#version 450
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 outward;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(push_constant) uniform Push { vec4 light; vec4 ambient; } push;
layout(location = 0) out vec4 colour;

void main()
{
   float lit = max(dot(normalize(outward.xyz), push.light.xyz), 0.0);
   vec3 fog = mix(vec3(0.5, 0.6, 0.7), vec3(1.0), clamp(outward.w + 1.0, 0.0, 1.0));
   vec4 texel = texture(picture, place.xy);
   colour = vec4(texel.rgb * (push.ambient.rgb + lit * push.light.w) * fog + 0.01 * place.zzw, texel.a);
}
