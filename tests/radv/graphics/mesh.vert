#version 450
// A mesh with packed vertices, two matrices and an offset of the instance.
layout(location = 0) in vec3 position;
layout(location = 1) in vec3 normal;
layout(location = 2) in vec2 coord;
layout(location = 3) in vec4 tangent;
layout(set = 0, binding = 0) uniform Scene {
   mat4 clip;
   mat4 world;
   vec4 shift;
} scene;
layout(location = 0) out vec4 place;
layout(location = 1) out vec4 outward;
#ifdef TANGENT
layout(location = 2) out vec4 along;
#endif

void main()
{
   vec4 at = vec4(position + scene.shift.xyz * float(gl_InstanceIndex), 1.0);
   vec4 moved = scene.world * at;
   gl_Position = scene.clip * moved;
   place = vec4(coord * scene.shift.w, moved.xy);
   outward = vec4(mat3(scene.world) * normal, moved.z);
#ifdef TANGENT
   along = vec4(mat3(scene.world) * tangent.xyz, tangent.w);
#endif
}
