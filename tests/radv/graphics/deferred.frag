#version 450
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 outward;
layout(location = 2) in vec4 along;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(location = 0) out vec4 albedo;
layout(location = 1) out vec4 normal;
layout(location = 2) out vec4 position;
layout(location = 3) out uvec2 material;
layout(location = 4) out float linear;

vec2 octahedral(vec3 n)
{
   n /= abs(n.x) + abs(n.y) + abs(n.z);
   vec2 folded = (1.0 - abs(n.yx)) * mix(vec2(-1.0), vec2(1.0), greaterThanEqual(n.xy, vec2(0.0)));
   return n.z >= 0.0 ? n.xy : folded;
}

void main()
{
   albedo = texture(picture, place.xy);
   normal = vec4(octahedral(normalize(outward.xyz)) * 0.5 + 0.5, along.xy * 0.25 + 0.5);
   position = vec4(place.zw, outward.w, along.z);
   uvec2 square = uvec2(gl_FragCoord.xy) >> 3;
   material = uvec2(square.x * 16u + square.y, packUnorm2x16(vec2(square) / 8.0));
   linear = gl_FragCoord.z + 0.1 * along.w;
}
