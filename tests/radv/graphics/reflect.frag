#version 450
// A mirror with gradients of its own, a rough one by level, and the ground below by a second cube of an array.
layout(location = 0) in vec4 place;
layout(location = 1) in vec4 outward;
layout(set = 0, binding = 1) uniform samplerCube around;
layout(set = 0, binding = 2) uniform samplerCubeArray probes;
layout(push_constant) uniform Push { vec4 eye; vec4 rough; } push;
layout(location = 0) out vec4 colour;
layout(location = 1) out vec4 second;

void main()
{
   vec3 n = normalize(outward.xyz);
   vec3 at = vec3(place.zw, outward.w);
   vec3 r = reflect(normalize(at - push.eye.xyz), n);
   // The change from pixel to pixel, along the surface only.
   vec3 across = dFdx(at), down = dFdy(at);
   vec3 dx = (across - 2.0 * n * dot(n, across)) * push.rough.x;
   vec3 dy = (down - 2.0 * n * dot(n, down)) * push.rough.x;
   float fresnel = 0.1 + 0.9 * pow(1.0 - clamp(dot(r, n), 0.0, 1.0), 5.0);
   colour = mix(vec4(0.3, 0.25, 0.2, 1.0), textureGrad(around, r, dx, dy), fresnel + 0.5);
   float probe = place.x > 0.75 ? 1.0 : 0.0;
   second = textureLod(probes, vec4(r, probe), push.rough.y * place.y) + 0.25 * textureGrad(probes, vec4(n, 1.0 - probe), dx * 2.0, dy * 2.0);
}
