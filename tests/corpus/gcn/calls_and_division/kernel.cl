// A random program (of a generator that is not in this repository, pre.h is its prelude), compiled by clang 19 at -O2; expected is what gcc's
// code gives on the host. Between v_div_scale and v_div_fmas, which stand in different blocks, VCC is a number.
#include "pre.h"
#define WGSZ0_ 33u
#define GRSZ0_ 99u
#define WGSZ1_ 2u
#define GRSZ1_ 2u
#define WGSZ2_ 1u
#define GRSZ2_ 1u
#define OW 8u
#ifdef HOST
#define KATTR
#else
#define KATTR 
#endif
INL char rem_char(char x, char y) { return y==(char)0?x:y==(char)-1?(char)(-x):(char)(x%y); }
INL char rhadd_char(char x, char y) { return (char)((x|y)-((x^y)>>(uchar)1)); }
INL ushort rhadd_ushort(ushort x, ushort y) { return (ushort)((x|y)-((x^y)>>(ushort)1)); }
INL short mulhi_short(short x, short y) { return (short)((((long)x)*((long)y))>>16); }
INL ushort abs_ushort(ushort x) { return x<(ushort)(0)?(ushort)(-x):x; }
INL ushort rem_ushort(ushort x, ushort y) { return y==(ushort)0?x:(ushort)(x%y); }
INL ulong bsel_ulong(ulong x, ulong y, ulong z) { return (ulong)((x&~z)|(y&z)); }
INL ulong clz_ulong(ulong x) { ulong q=(ulong)x; return q?(ulong)(__builtin_clzl((ulong)q)-0):(ulong)64; }
INL ulong mulhi_ulong(ulong x, ulong y) { ulong a=(ulong)x,c=(ulong)y; ulong al=(uint)a,ah=a>>32,cl=(uint)c,ch=c>>32; ulong m=ah*cl+((al*cl)>>32); ulong q=al*ch+(uint)m; ulong h=ah*ch+(m>>32)+(q>>32); return (ulong)h; }
INL ulong ctz_ulong(ulong x) { ulong q=(ulong)x; return q?(ulong)__builtin_ctzl((ulong)q):(ulong)64; }
INL int min_int(int x, int y) { return x<y?x:y; }
INL int rem_int(int x, int y) { return y==(int)0?x:y==(int)-1?(int)(-x):(int)(x%y); }
INL ulong addsat_ulong(ulong x, ulong y) { ulong r=x+y; return r<x?~0ul:r; }
#if __has_builtin(__builtin_elementwise_add_sat) && !defined(HOST) && (defined(__gfx900__)||defined(__gfx902__)||defined(__gfx906__))
#define addsate_ulong(x,y) __builtin_elementwise_add_sat((ulong)(x),(ulong)(y))
#else
#define addsate_ulong(x,y) addsat_ulong(x,y)
#endif
INL uchar rot_uchar(uchar x, uchar y) { return (uchar)((x<<(y&(uchar)7))|(x>>(((uchar)8-y)&(uchar)7))); }
constant uchar ctab_uchar[64] = {(uchar)0x6u, (uchar)0x3u, (uchar)0xf1u, (uchar)0xeu, (uchar)0xfbu, (uchar)0xcu, (uchar)0x10u, (uchar)0x86u, (uchar)0xcu, (uchar)0x8u, (uchar)0x9u, (uchar)0xf8u, (uchar)0x1u, (uchar)0x2u, (uchar)0x0u, (uchar)0x80u, (uchar)0x3u, (uchar)0xeeu, (uchar)0x2u, (uchar)0xfu, (uchar)0xau, (uchar)0x70u, (uchar)0x3u, (uchar)0xcu, (uchar)0xdfu, (uchar)0x3u, (uchar)0xcu, (uchar)0x9u, (uchar)0x7eu, (uchar)0xf7u, (uchar)0x0u, (uchar)0xadu, (uchar)0xf6u, (uchar)0xf0u, (uchar)0xc7u, (uchar)0xf0u, (uchar)0x4u, (uchar)0x3fu, (uchar)0x73u, (uchar)0xf2u, (uchar)0x2u, (uchar)0xau, (uchar)0x4u, (uchar)0x0u, (uchar)0xfu, (uchar)0x4u, (uchar)0x2u, (uchar)0x6eu, (uchar)0xau, (uchar)0x2cu, (uchar)0x18u, (uchar)0xedu, (uchar)0x17u, (uchar)0xeeu, (uchar)0x8u, (uchar)0x11u, (uchar)0x21u, (uchar)0xfdu, (uchar)0x7u, (uchar)0x5u, (uchar)0x0u, (uchar)0x5u, (uchar)0x8u, (uchar)0x7u};
constant char ctab_char[256] = {(char)0xb0u, (char)0x1u, (char)0x3fu, (char)0x9u, (char)0xau, (char)0x1cu, (char)0x5u, (char)0xau, (char)0x8u, (char)0x40u, (char)0x2u, (char)0x10u, (char)0x4u, (char)0x7u, (char)0x3fu, (char)0x7du, (char)0x38u, (char)0x81u, (char)0x7u, (char)0x3u, (char)0x10u, (char)0x10u, (char)0x2u, (char)0xau, (char)0xfu, (char)0x3u, (char)0x9u, (char)0xau, (char)0xc0u, (char)0xecu, (char)0xdu, (char)0xf9u, (char)0x77u, (char)0x7u, (char)0x4du, (char)0xf4u, (char)0x58u, (char)0x4bu, (char)0x1u, (char)0x3u, (char)0xebu, (char)0x10u, (char)0xbu, (char)0x1u, (char)0x1u, (char)0x1du, (char)0x4fu, (char)0x28u, (char)0xd4u, (char)0xfcu, (char)0xbu, (char)0xf4u, (char)0xceu, (char)0x10u, (char)0xd8u, (char)0x7u, (char)0xfu, (char)0xf6u, (char)0x2fu, (char)0xau, (char)0x4eu, (char)0x4u, (char)0x4u, (char)0x35u, (char)0x1u, (char)0x4u, (char)0x5u, (char)0xcu, (char)0xf1u, (char)0x0u, (char)0xbu, (char)0x2u, (char)0xfdu, (char)0xb1u, (char)0x1u, (char)0x1u, (char)0xeu, (char)0xcu, (char)0x5du, (char)0x74u, (char)0x10u, (char)0x9u, (char)0xfau, (char)0x5u, (char)0x10u, (char)0x7fu, (char)0x14u, (char)0xfeu, (char)0x7u, (char)0xcu, (char)0x4u, (char)0x10u, (char)0x1u, (char)0xf7u, (char)0xeu, (char)0xf4u, (char)0x41u, (char)0x1du, (char)0x1u, (char)0x81u, (char)0xbcu, (char)0x6u, (char)0x74u, (char)0xeu, (char)0x32u, (char)0x10u, (char)0xfeu, (char)0x5u, (char)0x2bu, (char)0xe1u, (char)0x41u, (char)0x5au, (char)0xa8u, (char)0x9u, (char)0x8u, (char)0x3u, (char)0xbu, (char)0x2u, (char)0x1eu, (char)0x2u, (char)0x81u, (char)0xf5u, (char)0xau, (char)0x7fu, (char)0x2u, (char)0xcu, (char)0x1u, (char)0x8u, (char)0x29u, (char)0xf2u, (char)0x5u, (char)0x3u, (char)0x3u, (char)0x0u, (char)0xfu, (char)0xcu, (char)0x0u, (char)0xbu, (char)0x41u, (char)0x0u, (char)0x2u, (char)0xa4u, (char)0xf1u, (char)0xfdu, (char)0x0u, (char)0x87u, (char)0x31u, (char)0xc3u, (char)0xd5u, (char)0x9u, (char)0xfcu, (char)0x5u, (char)0x7fu, (char)0x9u, (char)0x58u, (char)0x1u, (char)0x0u, (char)0x98u, (char)0x0u, (char)0x0u, (char)0xau, (char)0xau, (char)0x6u, (char)0xfu, (char)0xf8u, (char)0x7eu, (char)0xaau, (char)0x25u, (char)0x2u, (char)0x1u, (char)0x91u, (char)0xcu, (char)0x16u, (char)0xbu, (char)0x9eu, (char)0x1u, (char)0xau, (char)0x2u, (char)0xbu, (char)0x5u, (char)0xau, (char)0xf2u, (char)0xefu, (char)0xbu, (char)0x5u, (char)0xdu, (char)0xd5u, (char)0xa2u, (char)0x10u, (char)0xb1u, (char)0x6u, (char)0x8u, (char)0x40u, (char)0x3u, (char)0xau, (char)0x7u, (char)0x2u, (char)0x1fu, (char)0x2u, (char)0x6u, (char)0x3u, (char)0xf6u, (char)0x71u, (char)0x1u, (char)0x71u, (char)0xaeu, (char)0x8u, (char)0xeu, (char)0xf6u, (char)0x3u, (char)0x1u, (char)0x0u, (char)0xcu, (char)0x1u, (char)0xb3u, (char)0xf4u, (char)0x75u, (char)0x3u, (char)0xdu, (char)0xeu, (char)0xacu, (char)0x68u, (char)0x3u, (char)0x11u, (char)0xfu, (char)0x8u, (char)0xf7u, (char)0x7u, (char)0x39u, (char)0xfu, (char)0x40u, (char)0xffu, (char)0xdu, (char)0xffu, (char)0x6u, (char)0xfbu, (char)0xdcu, (char)0x1eu, (char)0xf9u, (char)0xefu, (char)0xeu, (char)0x2u, (char)0xau, (char)0x3u, (char)0x0u, (char)0xfcu, (char)0x25u, (char)0xffu, (char)0x5bu, (char)0x0u, (char)0xdu, (char)0xb4u, (char)0x19u, (char)0xeu, (char)0x21u, (char)0xb3u};
INL char min_char(char x, char y) { return x<y?x:y; }
INL uint rem_uint(uint x, uint y) { return y==(uint)0?x:(uint)(x%y); }
INL uint absd_uint(uint x, uint y) { return x>y?(uint)(__builtin_astype(x,uint)-__builtin_astype(y,uint)):(uint)(__builtin_astype(y,uint)-__builtin_astype(x,uint)); }
INL uint mul24_uint(uint x, uint y) { return ((x&0xffffffu)*(y&0xffffffu)); }
INL ulong rhadd_ulong(ulong x, ulong y) { return (ulong)((x|y)-((x^y)>>(ulong)1)); }
typedef struct __attribute__((packed)) { ulong v; } pk_ulong;
typedef struct __attribute__((packed)) { uint v; } pk_uint;
INL ushort popc_ushort(ushort x) { return (ushort)__builtin_popcount((uint)(ushort)x); }
INL ushort addsat_ushort(ushort x, ushort y) { long r=(long)x+(long)y; return (ushort)(r<0l?0l:r>65535l?65535l:r); }
INL ushort max_ushort(ushort x, ushort y) { return x>y?x:y; }
INL ushort min_ushort(ushort x, ushort y) { return x<y?x:y; }
INL ushort sat_ushort_float(float x) { return x!=x?(ushort)0: x>=65536.0f?(ushort)65535ul: x<=0.0f?(ushort)(0x0ul):(ushort)x; }
constant ushort ctab_ushort[16] = {(ushort)0x9u, (ushort)0xe415u, (ushort)0x3u, (ushort)0xbu, (ushort)0xbu, (ushort)0xad60u, (ushort)0xfff9u, (ushort)0x7u, (ushort)0x0u, (ushort)0x2u, (ushort)0x1fffu, (ushort)0xbu, (ushort)0x1u, (ushort)0x6u, (ushort)0xc98eu, (ushort)0x7412u};
INL float fmgt1_float(float x, float y) { return x>y?y:x; }
INL float fma_float(float x, float y, float z) { return __builtin_fmaf(x,y,z); }
INL int bsel_int(int x, int y, int z) { return (int)((x&~z)|(y&z)); }
INL int hadd_int(int x, int y) { return (int)((x&y)+((x^y)>>(uint)1)); }
INL short bsel_short(short x, short y, short z) { return (short)((x&~z)|(y&z)); }
INL int subsat_int(int x, int y) { long r=(long)x-(long)y; return (int)(r<-2147483648l?-2147483648l:r>2147483647l?2147483647l:r); }
#if __has_builtin(__builtin_elementwise_add_sat) && !defined(HOST) && (defined(__gfx900__)||defined(__gfx902__)||defined(__gfx906__))
#define subsate_int(x,y) __builtin_elementwise_sub_sat((int)(x),(int)(y))
#else
#define subsate_int(x,y) subsat_int(x,y)
#endif
INL ulong min_ulong(ulong x, ulong y) { return x<y?x:y; }
INL uint max_uint(uint x, uint y) { return x>y?x:y; }
INL ulong hadd_ulong(ulong x, ulong y) { return (ulong)((x&y)+((x^y)>>(ulong)1)); }
INL uint popc_uint(uint x) { return (uint)__builtin_popcount((uint)(uint)x); }
INL uint ctz_uint(uint x) { uint q=(uint)x; return q?(uint)__builtin_ctz((uint)q):(uint)32; }
INL uint hadd_uint(uint x, uint y) { return (uint)((x&y)+((x^y)>>(uint)1)); }
INL int popc_int(int x) { return (int)__builtin_popcount((uint)(uint)x); }
constant uint ctab_uint[256] = {(uint)0xdu, (uint)0xffu, (uint)0x2u, (uint)0x8u, (uint)0xfffffff0u, (uint)0x3ffffu, (uint)0x3fffffffu, (uint)0x68da1421u, (uint)0x10u, (uint)0x10u, (uint)0x8f4793b8u, (uint)0x4u, (uint)0xfffffff7u, (uint)0xfffffffu, (uint)0xfffffff2u, (uint)0x4u, (uint)0xfffffffbu, (uint)0x6u, (uint)0xf3796f05u, (uint)0x1ca0ea58u, (uint)0x1u, (uint)0xeu, (uint)0x3f1221e4u, (uint)0x10000u, (uint)0x11u, (uint)0x1000u, (uint)0x3bb9e23fu, (uint)0xdb257c8du, (uint)0x4a2cdaedu, (uint)0x3e99912bu, (uint)0x7u, (uint)0x1u, (uint)0xbu, (uint)0x7u, (uint)0x3u, (uint)0x1fu, (uint)0x3u, (uint)0x9a97233fu, (uint)0x7ffffffu, (uint)0x9u, (uint)0x1u, (uint)0xab72e864u, (uint)0xbu, (uint)0x7fu, (uint)0x8000001u, (uint)0x4u, (uint)0x6u, (uint)0x86b403d3u, (uint)0xfu, (uint)0xb312b73bu, (uint)0xffa82d1fu, (uint)0x7u, (uint)0x8u, (uint)0x484db1c0u, (uint)0xa3541d43u, (uint)0x9u, (uint)0x7fffffffu, (uint)0xcu, (uint)0xf5ea4104u, (uint)0x3ffu, (uint)0x8856147du, (uint)0x1u, (uint)0x3a4b046eu, (uint)0xfffffffdu, (uint)0xebb8a42bu, (uint)0x3u, (uint)0x400a3681u, (uint)0x5u, (uint)0xc0859feau, (uint)0x9u, (uint)0x8ac5d074u, (uint)0xffffffeeu, (uint)0xeu, (uint)0x8u, (uint)0xcu, (uint)0xfffffffdu, (uint)0x2u, (uint)0x9u, (uint)0x6400ecbeu, (uint)0xffffffeeu, (uint)0x2000u, (uint)0xdu, (uint)0x10u, (uint)0xffffffeeu, (uint)0x3ff2970au, (uint)0x4u, (uint)0xfu, (uint)0xfffffffu, (uint)0xfu, (uint)0x10u, (uint)0xb485c732u, (uint)0x5u, (uint)0x5u, (uint)0x21u, (uint)0xffffffefu, (uint)0x8u, (uint)0xbd15d5e3u, (uint)0x6u, (uint)0xeu, (uint)0x21u, (uint)0x3fffu, (uint)0x56d1e14cu, (uint)0xfffffffbu, (uint)0xa8f68c0du, (uint)0xcu, (uint)0x5u, (uint)0xbu, (uint)0x200u, (uint)0x4u, (uint)0xfffffff4u, (uint)0x6u, (uint)0x2u, (uint)0x2u, (uint)0xau, (uint)0x221c3dedu, (uint)0x27ba0051u, (uint)0x20u, (uint)0xeu, (uint)0x10u, (uint)0xe95db2d3u, (uint)0x1u, (uint)0xbu, (uint)0xfffffffau, (uint)0x7415e021u, (uint)0x7u, (uint)0x0u, (uint)0x9u, (uint)0x6u, (uint)0xeu, (uint)0x40000000u, (uint)0x950ed82du, (uint)0x8000u, (uint)0x3663fd46u, (uint)0x0u, (uint)0xdu, (uint)0x7u, (uint)0xcu, (uint)0xdu, (uint)0xfffffff5u, (uint)0x100u, (uint)0x4000001u, (uint)0xbu, (uint)0x7b8de23cu, (uint)0xa56fd134u, (uint)0xfu, (uint)0xfffffff3u, (uint)0xf1b37f1eu, (uint)0x8u, (uint)0x3u, (uint)0xfffffff3u, (uint)0x1u, (uint)0x1f6c6bddu, (uint)0xau, (uint)0xeu, (uint)0x1ffffffu, (uint)0xbu, (uint)0xcu, (uint)0x6u, (uint)0x78831e8au, (uint)0xbu, (uint)0x5c660263u, (uint)0xfffffff3u, (uint)0x1ffffu, (uint)0x8u, (uint)0x0u, (uint)0xbc1c54a3u, (uint)0x801u, (uint)0x8u, (uint)0xcu, (uint)0xffffffffu, (uint)0x130c85f0u, (uint)0xeafac6e6u, (uint)0x5u, (uint)0x2u, (uint)0x5e4ba1e9u, (uint)0x1fffffffu, (uint)0xcu, (uint)0x5u, (uint)0x9u, (uint)0x3u, (uint)0xfu, (uint)0x800u, (uint)0xf43fbbb7u, (uint)0x4b0924f9u, (uint)0xc8e2f813u, (uint)0x800u, (uint)0x1ffu, (uint)0xfffffff4u, (uint)0x31809d6bu, (uint)0x80000001u, (uint)0xf14458f5u, (uint)0xcu, (uint)0xecd67f0u, (uint)0x92acf04au, (uint)0xcd30ef70u, (uint)0xfffu, (uint)0xae699b76u, (uint)0x56099db6u, (uint)0x4u, (uint)0xfffffff2u, (uint)0x3094a871u, (uint)0x0u, (uint)0x41u, (uint)0x154ca92fu, (uint)0x7fffu, (uint)0x17826374u, (uint)0x830718du, (uint)0x20abce84u, (uint)0xau, (uint)0xba9036d1u, (uint)0x0u, (uint)0x9u, (uint)0xfu, (uint)0xa821e825u, (uint)0xfffffff9u, (uint)0x11u, (uint)0x7fffffffu, (uint)0x1u, (uint)0x2000u, (uint)0x0u, (uint)0x0u, (uint)0xbu, (uint)0x920d6e7u, (uint)0xa9e6f95du, (uint)0x7u, (uint)0x58a12dc0u, (uint)0x8a6dd7c6u, (uint)0x49b6eeb8u, (uint)0xfffffff4u, (uint)0x4u, (uint)0x7u, (uint)0x3ffffu, (uint)0x6u, (uint)0x1u, (uint)0x10u, (uint)0x7d6405f8u, (uint)0x7562750bu, (uint)0xfffffffbu, (uint)0x101u, (uint)0xffffffedu, (uint)0x7u, (uint)0xdu, (uint)0x201u, (uint)0x10u, (uint)0xfffffff4u, (uint)0x8u, (uint)0x2u, (uint)0xaa06e9a9u, (uint)0x100u, (uint)0xc9fba95eu, (uint)0xfffffff3u, (uint)0xe15bb560u, (uint)0x0u, (uint)0xfffffffu, (uint)0x6u, (uint)0x96e0531fu};
INL char bswap_char(char x) { return x; }
INL char abs_char(char x) { return x<(char)(0)?(char)(-x):x; }
INL int abs_int(int x) { return x<(int)(0)?(int)(-x):x; }
typedef struct __attribute__((packed)) { int v; } pk_int;
INL int max_int(int x, int y) { return x>y?x:y; }
INL int mulhi_int(int x, int y) { return (int)((((long)x)*((long)y))>>32); }
INL uint mulhi_uint(uint x, uint y) { return (uint)((((ulong)x)*((ulong)y))>>32); }
INL float fabs_float(float x) { return __builtin_fabsf(x); }
constant int ctab_int[64] = {(int)0x10u, (int)0x1ffffffu, (int)0x8001u, (int)0x7u, (int)0xbu, (int)0xf9e530bbu, (int)0x4u, (int)0xfffffffau, (int)0x81u, (int)0x9u, (int)0x46074530u, (int)0xfffffffdu, (int)0x6u, (int)0x1u, (int)0xfffffff7u, (int)0x11u, (int)0x2001u, (int)0xc3c4bae3u, (int)0x2u, (int)0x10u, (int)0xfu, (int)0xa26de93au, (int)0x71207c54u, (int)0xbu, (int)0x9u, (int)0xeu, (int)0xfffffff9u, (int)0xa286135bu, (int)0x8f8ff18u, (int)0x8c2c38a6u, (int)0x1000u, (int)0xcee0383bu, (int)0xfffffffcu, (int)0x3u, (int)0xffffffffu, (int)0xcd07455eu, (int)0x0u, (int)0xd7982888u, (int)0xfffffff3u, (int)0x40001u, (int)0xfffffffbu, (int)0xffffffu, (int)0x60d98d45u, (int)0x654a9d28u, (int)0x10u, (int)0x6u, (int)0xdu, (int)0xfffffff7u, (int)0x0u, (int)0xdu, (int)0x7u, (int)0x2u, (int)0x3u, (int)0x5u, (int)0x9u, (int)0xa2f997efu, (int)0xfffffff8u, (int)0xbu, (int)0x7u, (int)0xau, (int)0xeu, (int)0xfffffff9u, (int)0x9u, (int)0xfffffff6u};
INL uint bsel_uint(uint x, uint y, uint z) { return (uint)((x&~z)|(y&z)); }
NOINL static char fn1_(global const uint*A,global const float*F,global const double*D,uint n,ulong l,float f,double d,uchar c,short s,uint lin,uint lid,uint gid0, float a0, long a1, int a2, int a3) {
  char p2[2];
  for (uint i3=0; i3<2u; i3++) p2[i3] = rem_char(rhadd_char(((char)0xacu),((char)0x2u)),((global const char*)A)[(gid0+9337u)&16383u]);
  ushort p4[8];
  for (uint i5=0; i5<8u; i5++) p4[i5] = ((ushort)(rhadd_ushort(((ushort)0xad36u),((ushort)0x1u)) + ((ushort)(((ushort)0xf7e6u) - ((ushort)0x5u)))));
  long p6[32];
  for (uint i7=0; i7<32u; i7++) p6[i7] = ((long)(((a1 <= a1) || (((uint)0x5u) < ((uint)0xe690922au)))));
  ulong v8 = ((ulong)(((short)(mulhi_short(((short)0x10u),((short)0xc033u)) << abs_ushort(((ushort)0xbf2du))))));
  if ((((lin>>0)&1) || (((global const uchar*)A)[(gid0+16152u)&16383u] != ((uchar)0xfeu)))) {
    p4[(uint)(lin)&7u] = rem_ushort(((ushort)(v8)),((ushort)0x41u));
    v8 = ((ulong)(((ulong)(((global const ulong*)A)[(uint)(((uint)0xbfb80350u))&2047u] - (((ulong)(((ulong)(v8 ^ v8)) + ((ulong)(((global const ulong*)A)[(uint)(lin)&2047u] - v8)))) < ((global const ulong*)A)[(lin*17u+617u)&2047u] ? (ulong)1 : (ulong)0))) ^ bsel_ulong(((ulong)(((ulong)(((global const char*)A)[(lin*1u+3000u)&16383u])) ^ clz_ulong(v8))),((ulong)(mulhi_ulong(((global const ulong*)A)[(uint)(lin)&2047u],v8) | ctz_ulong(((global const ulong*)A)[(gid0+2001u)&2047u]))),((ulong)(((global const ulong*)A)[(lin*1u+1773u)&2047u] + ((ulong)(a2)))))));
  }
  a3 = min_int(rem_int(a3,a2),((global const int*)A)[(gid0+3893u)&4095u]);
  if ((((global const ulong*)A)[(lin*7u+1477u)&2047u] > addsate_ulong(v8,((global const ulong*)A)[(uint)(lin)&2047u]))) return __builtin_astype(rot_uchar(ctab_uchar[(uint)(lin)&63u],((uchar)(((uchar)0x9u) >> (uchar)(7)))),char);
  return ((char)(((char)(ctab_char[62u] - rem_char(((global const char*)A)[(lin*7u+4485u)&16383u],((char)0x10u)))) + ((char)(min_char(((char)0xbu),((char)0xf6u)) ^ ((char)(((char)0x52u) - (((global const char*)A)[(gid0+12972u)&16383u] < ((char)0x34u) ? (char)1 : (char)0)))))));
}
#define fn1(x0,x1,x2,x3) fn1_(A,F,D,n,l,f,d,c,s,lin,lid,gid0,x0,x1,x2,x3)
NOINL static float fn9_(global const uint*A,global const float*F,global const double*D,uint n,ulong l,float f,double d,uchar c,short s,uint lin,uint lid,uint gid0, float a0, short a1, uint a2) {
  switch ((((uint)(((global const uint*)A)[(uint)(a2)&4095u] + ((uint)(((ushort)0x73bau)))))) & 7u) {
  case 5: {
    short v10 = mulhi_short(((short)(a1 - a1)),((short)(-a1)));
    uchar v11 = ((global const uchar*)A)[(gid0+9472u)&16383u];
  } break;
  case 3: {
    uint i12 = 0; do {
      a2 = ((global const uint*)A)[(uint)(((uint)((a1 > a1))))&4095u];
      if ((a2 != ((global const uint*)A)[(uint)(((global const uint*)A)[(gid0+569u)&4095u])&4095u])) { i12++; continue; }
      ushort v13 = ((ushort)((((ushort)(((ushort)0xa9e6u) - ((ushort)0xb61cu))) << (ushort)(1)) | ((ushort)0x23fdu)));
    } while (++i12 < 5u);
  } break;
  case 6: {
    uint i14 = 0; do {
      a2 = ((uint)(__builtin_astype(absd_uint((mul24_uint(((uint)(((uchar)0x18u))),((uint)0x7828c5f1u))+((global const uint*)A)[(uint)(lin)&4095u]),((uint)(rhadd_ulong(l,((global const pk_ulong*)((global const uchar*)A+((lin*1u+9u)&8191u)))->v)))),uint) * ((uint)((((uint)(((mul24_uint(a2,a2)+lin) << (uint)(3)) + ((uint)(a2 + lin)))) << (uint)(4)) - ((uint)((((uint)(a2 ^ a2)) << (uint)(1)) + ((uint)((a2 ^ ((global const pk_uint*)((global const uchar*)A+((lin*17u+5454u)&8191u)))->v) - a2))))))));
      if (((lin>>5)&1)) { i14++; continue; }
      if ((GRP(0)&1)) {
        short v15 = a1;
      } else {
        ushort v16 = ((ushort)(((ushort)(rem_ushort(popc_ushort(((ushort)0xcu)),rhadd_ushort(((ushort)0x7fu),((ushort)0xb07au))) + ((ushort)(addsat_ushort(((ushort)0xeu),((ushort)0xfu)) + ((ushort)(((ushort)0xfff7u) * ((ushort)0x3u))))))) + min_ushort(max_ushort(((ushort)(((long)(~((long)0x1312cc9c1232c9bful))))),rem_ushort(((ushort)(((ushort)0x1ffu) + ((ushort)0x4493u))),((ushort)(a1)))),((ushort)(sat_ushort_float(a0) - (((ushort)(ctab_ushort[(uint)(a2)&15u] / (ushort)(7))) > ((global const ushort*)A)[(lin*3u+7451u)&8191u] ? (ushort)1 : (ushort)0))))));
      }
    } while (++i14 < 2u && (!(a2 > a2))); 
  } break;
  }
  int v17 = ((((char)0xf4u) >= ((global const char*)A)[(uint)(a2)&16383u]) ? ((int)0xffffu) : ((int)0x9u));
  return (-fmgt1_float(fma_float(a0,a0,(78.11235090879967f)),(fmake(((global const uint*)A)[3852u]) + a0)));
}
#define fn9(x0,x1,x2) fn9_(A,F,D,n,l,f,d,c,s,lin,lid,gid0,x0,x1,x2)
NOINL static uint fn18_(global const uint*A,global const float*F,global const double*D,uint n,ulong l,float f,double d,uchar c,short s,uint lin,uint lid,uint gid0, ushort a0, uint a1, ushort a2, int a3) {
  int v19 = bsel_int(((int)(((int)(-((int)((a3 | ((global const int*)A)[(lin*2u+2059u)&4095u]) | a3)))) - (hadd_int(((global const int*)A)[(lin*1u+1597u)&4095u],(int)s) > ((int)((int)(((int)((int)lid * a3))<<(int)(7))>>(int)(31))) ? (int)1 : (int)0))),((int)(((global const int*)A)[(lin*2u+688u)&4095u] + ((int)(bsel_short(((short)0x9e9u),((short)0xau),((short)0x1u)))))),subsate_int(((global const int*)A)[(uint)(lin)&4095u],((int)(min_ushort(max_ushort(((global const ushort*)A)[(uint)(lin)&8191u],a0),a2)))));
  ulong v20 = min_ulong(((ulong)(((uint)((a1>>(uint)(26))&(uint)(0xful))))*(ulong)(max_uint(((global const uint*)A)[(gid0+2343u)&4095u],a1))+((ulong)(((uchar)0x3bu)))),((ulong)(hadd_ulong(((global const ulong*)A)[(gid0+482u)&2047u],((ulong)0xa924643ff225daa0ul)) + ((ulong)(((ulong)0x5ul) ^ ((ulong)0xf8364f47004a33e1ul))))));
  float v21 = F[(uint)(((uint)(((popc_uint(lin))&0xff000000u)|(((ctz_uint(a1))>>8u)&0xffu)<<8u)))&1023u];
  a0 *= ((ushort)(((ushort)(a0 << (ushort)(13))) ^ ((ushort)((a2 * a2) - a0))));
  return ((uint)(__builtin_astype(absd_uint(hadd_uint(lin,a1),((uint)(a1 / (uint)(13)))),uint) - ((uint)((WGSZ(1) << (uint)(4)) + ((((long)0x7ul) < ((long)0xfffffffffffffffdul)) ? a1 : a1)))));
}
#define fn18(x0,x1,x2,x3) fn18_(A,F,D,n,l,f,d,c,s,lin,lid,gid0,x0,x1,x2,x3)
NOINL static float fn22_(global const uint*A,global const float*F,global const double*D,uint n,ulong l,float f,double d,uchar c,short s,uint lin,uint lid,uint gid0, uint a0, char a1, float a2, int a3, ulong a4, int a5) {
  int p23[32];
  for (uint i24=0; i24<32u; i24++) p23[i24] = min_int(popc_int(a5),((global const int*)A)[(uint)(lid)&4095u]);
  for (uint i25 = 0; i25 < ((((uint)(lin + lin)))&7u); i25++) {
    int v26 = p23[0u];
    uint i27 = 0; do {
      ushort v28 = sat_ushort_float(a2);
      if (((((((global const char*)A)[(uint)(((global const uint*)A)[(uint)(i25)&4095u])&16383u])&(((char)0x76u))) != 0) && (((short)0xfff1u) < ((short)0xffedu)))) { i27++; continue; }
      switch ((((uint)((((uint)((((global const uint*)A)[(uint)(lin)&4095u] & a0) | a0)) << (uint)(3)) - ((uint)(~a0))))) & 7u) {
      case 6: {
        char v29 = ((char)(((char)(((char)((((char)(a1 + a1)) ^ bswap_char(a1)) - bswap_char(a1))) + ((char)(((char)(a4)) + (((char)((a1 << (char)(2)) | a1)) > ((global const char*)A)[(gid0+1983u)&16383u] ? (char)1 : (char)0))))) + (((global const char*)A)[(uint)((uint)c)&16383u] > ((global const char*)A)[(gid0+12875u)&16383u] ? (char)1 : (char)0)));
      } break;
      case 7: {
        a1 = abs_char(rhadd_char(a1,ctab_char[(uint)(((global const pk_uint*)((global const uchar*)A+((lin*7u+6184u)&8191u)))->v)&255u]));
        long v30 = ((long)(((long)(uint)c)<<(long)(32)|((long)ctab_uint[(lin*17u+222u)&255u])));
      } break;
      default: {
        p23[(uint)(((uint)(((uchar)0x75u))))&31u] = max_int(min_int(abs_int(((global const pk_int*)((global const uchar*)A+((lin*1u+6634u)&8191u)))->v),((int)(((uchar)0x10u)))),mulhi_int(a5,a5));
      }
      }
    } while (++i27 < 3u && (((global const long*)A)[(uint)((int)n)&2047u] >= ((global const long*)A)[(uint)(i25)&2047u])); 
  }
  int v31 = p23[(lin*3u+13u)&31u];
  return fmake(ctab_uint[(lin*2u+124u)&255u]);
}
#define fn22(x0,x1,x2,x3,x4,x5) fn22_(A,F,D,n,l,f,d,c,s,lin,lid,gid0,x0,x1,x2,x3,x4,x5)
NOINL static uint ind33(uint x, uint y) { for(uint i=0;i<(y&7u);i++) x=x*5u+i; return x-y+52u; }
NOINL static uint ind34(uint x, uint y) { for(uint i=0;i<(y&7u);i++) x=x*5u+i; return x+y+97u; }
typedef uint (*fpt)(uint,uint);
kernel KATTR void k(global const uint*restrict A, global const float*restrict F, global const double*restrict D, global uint*out, global uint*acc, global uchar*B, uint n, ulong l, float f, double d, uchar c, short s, ulong pad0, ulong pad1 MESAPAD) {
  uint lid=LID(0)+LID(1)*33u+LID(2)*66u; uint grp=GRP(0)+GRP(1)*3u+GRP(2)*3u; uint lin=grp*66u+lid; uint gid0=GRP(0)*33u+LID(0);
  int v35 = ((int)(((short)0xau)));
  char v36 = ((char)((char)(fn1(fmake(((global const uint*)A)[(lin*1u+990u)&4095u]), ((global const long*)A)[(uint)(((global const uint*)A)[(uint)(((uint)0x800001u))&4095u])&2047u], v35, ((int)(((int)0xeu) << (uint)(15))))<<(char)(0))>>(char)(6)));
  ulong v37 = ((ulong)(((ulong)0xffffffffffffffecul) + ((ulong)0xe208143940a4d99dul)));
  uint v38 = mulhi_uint(((uint)(((long)0x3ffffffful))),popc_uint(((uint)0xfffffff2u)));
  float v39 = fabs_float((F[(lin*7u+764u)&1023u] - (fmake(((global const uint*)A)[(lin*17u+861u)&4095u]) / (49.38547728439738f))));
  uint p40[8];
  for (uint i41=0; i41<8u; i41++) p40[i41] = rem_uint(((i41 >= v38) ? i41 : v38),((uint)(((global const pk_ulong*)((global const uchar*)A+((uint)(v38)&8191u)))->v)));
  uint p42[2];
  for (uint i43=0; i43<2u; i43++) p42[i43] = ctz_uint(((uint)(v35)));
  uint p44[16];
  for (uint i45=0; i45<16u; i45++) p44[i45] = ((global const uint*)A)[(uint)(((global const uint*)A)[(uint)(((global const uint*)A)[(uint)(i45)&4095u])&4095u])&4095u];
  uint i46 = 0; do {
    char v47 = v36;
    v36 *= fn1(v39, ((long)0xffffffful), ((int)0x10u), (int)lin);
    if (((lin>>0)&1)) { i46++; continue; }
    v39 -= ((((float)(v35)) * fn9(v39, ((global const short*)A)[(uint)(((global const uint*)A)[(uint)(((uint)0x6221a6f4u))&4095u])&8191u], v38)) + fn9(v39, ((short)0xd7cu), v38));
  } while (++i46 < 5u);
  v39 *= (fma_float(v39,v39,(4.0f)) / ((((v35)&(v35)) == 0) ? v39 : v39));
  fpt v48f=ind33; if (((((uint)(v38 + v38)))>>0&3u)==1u) v48f=ind34; uint v48=v48f(fn18(((ushort)0x6u), (int)n, ((ushort)0xdu), ctab_int[(lin*17u+7u)&63u]),v38);
  fpt v49f=ind33; if (((lin)>>2&3u)==1u) v49f=ind34; uint v49=v49f(((uint)(__builtin_isgreaterequal(f,f))),((uint)(((global const uint*)A)[(lin*3u+710u)&4095u] >> v48)));
  uchar v50 = ((uchar)(((uchar)0x0u) | ((uchar)0xa0u)));
  char v51 = ((char)(((global const int*)A)[(uint)(lid)&4095u]));
  fpt v52f=ind33; if (((bsel_uint(((global const uint*)A)[3474u],GRSZ(0),WGSZ(1)))>>3&3u)==1u) v52f=ind34; uint v52=v52f(((uint)(((((global const uint*)A)[(uint)(v48)&4095u])&0xffu)|(((v38)>>24u)&0xffu)<<0u)),((uint)(((global const uchar*)A)[(gid0+2193u)&16383u])));
  fpt v53f=ind33; if (((n)>>4&3u)==1u) v53f=ind34; uint v53=v53f(((uint)(~((global const pk_uint*)((global const uchar*)A+((lin*1u+3558u)&8191u)))->v)),fn18(((ushort)0x9u), v49, ((ushort)0x201u), ((int)0x2u)));
  uint h=lin;
  h=h*31u+(uint)v50;
  ((global pk_uint*)(out+lin*OW+1u))->v = v53;
  ((global pk_uint*)(out+lin*OW+2u))->v = fbits(v39);
  h=h*31u+(uint)v36;
  ((global pk_uint*)(out+lin*OW+3u))->v = v38;
  h=h*31u+(uint)v52;
  ((global pk_int*)(out+lin*OW+4u))->v = v35;
  ((global pk_uint*)(out+lin*OW+5u))->v = v48;
  h=h*31u+(uint)v51;
  ((global pk_ulong*)(out+lin*OW+6u))->v = v37;
  h=h*31u+(uint)v49;
  for (uint i54=0;i54<8u;i54++) { ulong y_=(ulong)p40[i54]; h=(h*31u+(uint)y_)*31u+(uint)(y_>>32); }
  for (uint i55=0;i55<2u;i55++) { ulong y_=(ulong)p42[i55]; h=(h*31u+(uint)y_)*31u+(uint)(y_>>32); }
  for (uint i56=0;i56<16u;i56++) { ulong y_=(ulong)p44[i56]; h=(h*31u+(uint)y_)*31u+(uint)(y_>>32); }
  out[lin*OW]=h;
}
