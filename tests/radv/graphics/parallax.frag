#version 450
// Relief: steps through a height map until the ray is below it, with the gradients of the surface; what lies beyond the edge is cut off.
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 outward;
layout(location = 2) in vec4 along;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(set = 0, binding = 2) uniform sampler2D heights;
layout(push_constant) uniform Push { vec4 eye; vec4 depth; } push;
layout(location = 0) out vec4 colour;
layout(location = 1) out vec4 found;

void main()
{
   vec3 n = normalize(outward.xyz);
   vec3 t = normalize(along.xyz - n * dot(n, along.xyz));
   vec3 b = cross(n, t) * along.w;
   vec3 view = normalize(push.eye.xyz - vec3(place.zw, outward.w));
   vec3 ray = vec3(dot(view, t), dot(view, b), dot(view, n));
   int steps = int(mix(push.depth.z, push.depth.y, clamp(abs(ray.z), 0.0, 1.0)));
   vec2 dx = dFdx(place.xy), dy = dFdy(place.xy);
   vec2 move = -ray.xy / max(abs(ray.z), 0.2) * push.depth.x / float(steps);
   vec2 uv = place.xy;
   float level = 1.0, before = 1.0, height = 0.0, last = 0.0;
   int taken = 0;
   for (int i = 0; i < steps; i++) {
      last = height;
      height = textureGrad(heights, uv, dx, dy).r;
      if (height >= level)
         break;
      before = level;
      level -= 1.0 / float(steps);
      uv += move;
      taken++;
   }
   float over = height - level, under = before - last;
   uv -= move * clamp(over / max(over + under, 1e-3), 0.0, 1.0);
   if (uv.x < 0.02 || uv.y < 0.02 || uv.x > 0.98 || uv.y > 0.98)
      discard;
   colour = textureGrad(picture, uv, dx, dy) * (0.4 + 0.6 * height);
   found = vec4(uv, float(taken), level);
}
