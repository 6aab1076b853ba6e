#version 450
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 outward;
layout(location = 2) in vec4 along;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) uniform sampler2D normals;
layout(set = 0, binding = 3) uniform Lights { vec4 at[4]; vec4 colour[4]; int count; } lights;
layout(location = 0) out vec4 colour;

void main()
{
   vec3 n = normalize(outward.xyz);
   vec3 t = normalize(along.xyz - n * dot(n, along.xyz));
   vec3 b = cross(n, t) * along.w;
   vec2 xy = texture(normals, place.xy).rg * 2.0 - 1.0;
   vec3 bumped = normalize(mat3(t, b, n) * vec3(xy, sqrt(max(1.0 - dot(xy, xy), 0.0))));
   vec3 position = vec3(place.zw, outward.w);
   vec3 sum = vec3(0.02);
   for (int i = 0; i < lights.count; i++) {
      vec3 to = lights.at[i].xyz - position;
      float far = length(to);
      to /= far;
      float diffuse = max(dot(bumped, to), 0.0);
      vec3 halfway = normalize(to + vec3(0.0, 0.0, 1.0));
      float shine = diffuse > 0.0 ? pow(max(dot(bumped, halfway), 0.0), lights.at[i].w) : 0.0;
      sum += lights.colour[i].rgb * (diffuse * texture(picture, place.xy).rgb + shine) / (1.0 + far * far);
   }
   colour = vec4(sum, 1.0);
}
