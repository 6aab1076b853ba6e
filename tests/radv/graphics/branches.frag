#version 450
layout(location = 0) in vec4 a;
layout(location = 1) in vec4 b;
layout(set = 0, binding = 0) uniform Table { vec4 table[16]; } table;
layout(set = 0, binding = 1) uniform sampler2D picture;
layout(push_constant) uniform Push { int steps; float scale; } push;
layout(location = 0) out vec4 first;

void main()
{
   vec4 sum = vec4(0.0);
   ivec2 at = ivec2(gl_FragCoord.xy);
   int turns = (at.x * 7 + at.y * 3) % 11;
   float local[8];
   for (int i = 0; i < 8; i++)
      local[i] = a.x * float(i) + b.y;
   for (int i = 0; i < push.steps; i++) {
      if (i == turns)
         break;
      if (((at.x + i) & 3) == 0)
         continue;
      sum += table.table[(turns + i) & 15] * local[(at.y + i) & 7];
      if (sum.x > 3.0)
         sum += textureLod(picture, a.xy + float(i) * 0.1, 0.0) * push.scale;
   }
   switch (turns) {
   case 0: sum = sum.yzwx; break;
   case 3: sum *= 0.5;
   case 4: sum -= b; break;
   case 9: discard;
   default: sum += texture(picture, a.xy).bgra;
   }
   first = sum;
}
