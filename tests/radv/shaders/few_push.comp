// Few push constants: all of them are in registers.
#version 450
layout(local_size_x = 33) in;
layout(push_constant) uniform Push {
   uint factor;
   int offset;
   uint mask;
};
layout(set = 0, binding = 0) buffer Data { uint data[]; };

void main()
{
   uint id = gl_GlobalInvocationID.x;
   data[id] = (data[id] * factor + uint(offset)) & mask;
}
