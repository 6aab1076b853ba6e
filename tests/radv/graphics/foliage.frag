#version 450
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 outward;
layout(set = 0, binding = 1) uniform sampler2D leaf;
layout(set = 0, binding = 2) uniform sampler2D shade;
layout(location = 0) out vec4 colour;

void main()
{
   vec4 texel = texture(leaf, place.xy);
   vec4 more = texture(shade, place.xy * 0.5 + 0.1 * texel.xy);
   float edge = fwidth(place.x) * 4.0;
   if (texel.a < 0.5)
      discard;
   colour = vec4(texel.rgb * more.rgb + edge, 1.0) + 0.001 * (vec4(place.zw, 0.0, 0.0) + outward);
}
