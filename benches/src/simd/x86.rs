//! The vector widths of x86-64.

use std::arch::x86_64::*;

use super::{Kernel, Simd};

/// Makes the token of a width and its operations.
macro_rules! width {
    ($(#[$doc:meta])* $name:ident, $lanes:literal, $features:literal, detect($($feature:tt),*),
     $f:ty, $i:ty, $m:ty,
     $(fn $method:ident $(<const N: $n:ty>)? ($($arg:ident: $arg_ty:ty),*) -> $out:ty $body:block)*) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        pub struct $name(());

        impl $name {
            /// The token, if this processor has the instructions.
            pub fn detect() -> Option<Self> {
                ($(is_x86_feature_detected!($feature))&&*).then_some($name(()))
            }
        }

        impl Simd for $name {
            type F = $f;
            type I = $i;
            type M = $m;
            const LANES: usize = $lanes;

            fn run<K: Kernel>(self, kernel: K) -> K::Out {
                #[target_feature(enable = $features)]
                fn inside<K: Kernel>(kernel: K, simd: $name) -> K::Out {
                    kernel.run(simd)
                }
                // SAFETY: a token exists only where `detect` has found these features.
                unsafe { inside(kernel, self) }
            }

            $(
                #[inline(always)]
                #[allow(unused_unsafe, reason = "some bodies are calls of other methods")]
                fn $method $(<const N: $n>)? (self, $($arg: $arg_ty),*) -> $out {
                    // SAFETY: the token says that the processor has the instructions; pointers come from
                    // slices whose length the bodies check.
                    unsafe { $body }
                }
            )*
        }
    };
}

width! {
    /// 128 bits with AVX2's and FMA's instructions.
    V4, 4, "avx2,fma,bmi1,bmi2", detect("avx2", "fma", "bmi1", "bmi2"), __m128, __m128i, __m128,
    fn f(x: f32) -> __m128 { _mm_set1_ps(x) }
    fn load(from: &[f32]) -> __m128 { _mm_loadu_ps(from[..4].as_ptr()) }
    fn store(to: &mut [f32], x: __m128) -> () { _mm_storeu_ps(to[..4].as_mut_ptr(), x) }
    fn add(a: __m128, b: __m128) -> __m128 { _mm_add_ps(a, b) }
    fn sub(a: __m128, b: __m128) -> __m128 { _mm_sub_ps(a, b) }
    fn mul(a: __m128, b: __m128) -> __m128 { _mm_mul_ps(a, b) }
    fn div(a: __m128, b: __m128) -> __m128 { _mm_div_ps(a, b) }
    fn fma(a: __m128, b: __m128, c: __m128) -> __m128 { _mm_fmadd_ps(a, b, c) }
    fn sqrt(a: __m128) -> __m128 { _mm_sqrt_ps(a) }
    fn rsqrt_estimate(a: __m128) -> __m128 { _mm_rsqrt_ps(a) }
    fn le(a: __m128, b: __m128) -> __m128 { _mm_cmple_ps(a, b) }
    fn select(m: __m128, yes: __m128, no: __m128) -> __m128 { _mm_blendv_ps(no, yes, m) }
    fn abs(a: __m128) -> __m128 { _mm_andnot_ps(_mm_set1_ps(-0.0), a) }
    fn i(x: u32) -> __m128i { _mm_set1_epi32(x as i32) }
    fn load_i(from: &[u32]) -> __m128i { _mm_loadu_si128(from[..4].as_ptr().cast()) }
    fn store_i(to: &mut [u32], x: __m128i) -> () { _mm_storeu_si128(to[..4].as_mut_ptr().cast(), x) }
    fn add_i(a: __m128i, b: __m128i) -> __m128i { _mm_add_epi32(a, b) }
    fn sub_i(a: __m128i, b: __m128i) -> __m128i { _mm_sub_epi32(a, b) }
    fn and_i(a: __m128i, b: __m128i) -> __m128i { _mm_and_si128(a, b) }
    fn or_i(a: __m128i, b: __m128i) -> __m128i { _mm_or_si128(a, b) }
    fn xor_i(a: __m128i, b: __m128i) -> __m128i { _mm_xor_si128(a, b) }
    fn shl<const N: u32>(a: __m128i) -> __m128i { _mm_sll_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    fn shr<const N: u32>(a: __m128i) -> __m128i { _mm_srl_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    fn sra<const N: u32>(a: __m128i) -> __m128i { _mm_sra_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    fn bits(a: __m128) -> __m128i { _mm_castps_si128(a) }
    fn floats(a: __m128i) -> __m128 { _mm_castsi128_ps(a) }
    fn to_f(a: __m128i) -> __m128 { _mm_cvtepi32_ps(a) }
    fn round_i(a: __m128) -> __m128i { _mm_cvtps_epi32(a) }
    fn gather(table: &[u32; 256], index: __m128i) -> __m128i {
        let index = _mm_and_si128(index, _mm_set1_epi32(255));
        _mm_i32gather_epi32::<4>(table.as_ptr().cast(), index)
    }
    fn and_m(a: __m128, b: __m128) -> __m128 { _mm_and_ps(a, b) }
    fn any(m: __m128) -> bool { _mm_movemask_ps(m) != 0 }
    fn all() -> __m128 { _mm_castsi128_ps(_mm_set1_epi32(-1)) }
    fn count(a: __m128i, m: __m128) -> __m128i { _mm_sub_epi32(a, _mm_castps_si128(m)) }
}

width! {
    /// 256 bits with AVX2's and FMA's instructions.
    V8, 8, "avx2,fma,bmi1,bmi2", detect("avx2", "fma", "bmi1", "bmi2"), __m256, __m256i, __m256,
    fn f(x: f32) -> __m256 { _mm256_set1_ps(x) }
    fn load(from: &[f32]) -> __m256 { _mm256_loadu_ps(from[..8].as_ptr()) }
    fn store(to: &mut [f32], x: __m256) -> () { _mm256_storeu_ps(to[..8].as_mut_ptr(), x) }
    fn add(a: __m256, b: __m256) -> __m256 { _mm256_add_ps(a, b) }
    fn sub(a: __m256, b: __m256) -> __m256 { _mm256_sub_ps(a, b) }
    fn mul(a: __m256, b: __m256) -> __m256 { _mm256_mul_ps(a, b) }
    fn div(a: __m256, b: __m256) -> __m256 { _mm256_div_ps(a, b) }
    fn fma(a: __m256, b: __m256, c: __m256) -> __m256 { _mm256_fmadd_ps(a, b, c) }
    fn sqrt(a: __m256) -> __m256 { _mm256_sqrt_ps(a) }
    fn rsqrt_estimate(a: __m256) -> __m256 { _mm256_rsqrt_ps(a) }
    fn le(a: __m256, b: __m256) -> __m256 { _mm256_cmp_ps::<_CMP_LE_OS>(a, b) }
    fn select(m: __m256, yes: __m256, no: __m256) -> __m256 { _mm256_blendv_ps(no, yes, m) }
    fn abs(a: __m256) -> __m256 { _mm256_andnot_ps(_mm256_set1_ps(-0.0), a) }
    fn i(x: u32) -> __m256i { _mm256_set1_epi32(x as i32) }
    fn load_i(from: &[u32]) -> __m256i { _mm256_loadu_si256(from[..8].as_ptr().cast()) }
    fn store_i(to: &mut [u32], x: __m256i) -> () { _mm256_storeu_si256(to[..8].as_mut_ptr().cast(), x) }
    fn add_i(a: __m256i, b: __m256i) -> __m256i { _mm256_add_epi32(a, b) }
    fn sub_i(a: __m256i, b: __m256i) -> __m256i { _mm256_sub_epi32(a, b) }
    fn and_i(a: __m256i, b: __m256i) -> __m256i { _mm256_and_si256(a, b) }
    fn or_i(a: __m256i, b: __m256i) -> __m256i { _mm256_or_si256(a, b) }
    fn xor_i(a: __m256i, b: __m256i) -> __m256i { _mm256_xor_si256(a, b) }
    fn shl<const N: u32>(a: __m256i) -> __m256i { _mm256_sll_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    fn shr<const N: u32>(a: __m256i) -> __m256i { _mm256_srl_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    fn sra<const N: u32>(a: __m256i) -> __m256i { _mm256_sra_epi32(a, _mm_cvtsi32_si128(N as i32)) }
    fn bits(a: __m256) -> __m256i { _mm256_castps_si256(a) }
    fn floats(a: __m256i) -> __m256 { _mm256_castsi256_ps(a) }
    fn to_f(a: __m256i) -> __m256 { _mm256_cvtepi32_ps(a) }
    fn round_i(a: __m256) -> __m256i { _mm256_cvtps_epi32(a) }
    fn gather(table: &[u32; 256], index: __m256i) -> __m256i {
        let index = _mm256_and_si256(index, _mm256_set1_epi32(255));
        _mm256_i32gather_epi32::<4>(table.as_ptr().cast(), index)
    }
    fn and_m(a: __m256, b: __m256) -> __m256 { _mm256_and_ps(a, b) }
    fn any(m: __m256) -> bool { _mm256_movemask_ps(m) != 0 }
    fn all() -> __m256 { _mm256_castsi256_ps(_mm256_set1_epi32(-1)) }
    fn count(a: __m256i, m: __m256) -> __m256i { _mm256_sub_epi32(a, _mm256_castps_si256(m)) }
}

width! {
    /// 512 bits with AVX-512.
    V16, 16, "avx512f,avx512vl,avx512dq,avx512bw,avx2,fma,bmi1,bmi2",
    detect("avx512f", "avx512vl", "avx512dq", "avx512bw", "avx2", "fma", "bmi1", "bmi2"),
    __m512, __m512i, __mmask16,
    fn f(x: f32) -> __m512 { _mm512_set1_ps(x) }
    fn load(from: &[f32]) -> __m512 { _mm512_loadu_ps(from[..16].as_ptr()) }
    fn store(to: &mut [f32], x: __m512) -> () { _mm512_storeu_ps(to[..16].as_mut_ptr(), x) }
    fn add(a: __m512, b: __m512) -> __m512 { _mm512_add_ps(a, b) }
    fn sub(a: __m512, b: __m512) -> __m512 { _mm512_sub_ps(a, b) }
    fn mul(a: __m512, b: __m512) -> __m512 { _mm512_mul_ps(a, b) }
    fn div(a: __m512, b: __m512) -> __m512 { _mm512_div_ps(a, b) }
    fn fma(a: __m512, b: __m512, c: __m512) -> __m512 { _mm512_fmadd_ps(a, b, c) }
    fn sqrt(a: __m512) -> __m512 { _mm512_sqrt_ps(a) }
    fn rsqrt_estimate(a: __m512) -> __m512 { _mm512_rsqrt14_ps(a) }
    fn le(a: __m512, b: __m512) -> __mmask16 { _mm512_cmp_ps_mask::<_CMP_LE_OS>(a, b) }
    fn select(m: __mmask16, yes: __m512, no: __m512) -> __m512 { _mm512_mask_blend_ps(m, no, yes) }
    fn abs(a: __m512) -> __m512 { _mm512_abs_ps(a) }
    fn i(x: u32) -> __m512i { _mm512_set1_epi32(x as i32) }
    fn load_i(from: &[u32]) -> __m512i { _mm512_loadu_si512(from[..16].as_ptr().cast()) }
    fn store_i(to: &mut [u32], x: __m512i) -> () { _mm512_storeu_si512(to[..16].as_mut_ptr().cast(), x) }
    fn add_i(a: __m512i, b: __m512i) -> __m512i { _mm512_add_epi32(a, b) }
    fn sub_i(a: __m512i, b: __m512i) -> __m512i { _mm512_sub_epi32(a, b) }
    fn and_i(a: __m512i, b: __m512i) -> __m512i { _mm512_and_si512(a, b) }
    fn or_i(a: __m512i, b: __m512i) -> __m512i { _mm512_or_si512(a, b) }
    fn xor_i(a: __m512i, b: __m512i) -> __m512i { _mm512_xor_si512(a, b) }
    fn shl<const N: u32>(a: __m512i) -> __m512i { _mm512_slli_epi32::<N>(a) }
    fn shr<const N: u32>(a: __m512i) -> __m512i { _mm512_srli_epi32::<N>(a) }
    fn sra<const N: u32>(a: __m512i) -> __m512i { _mm512_srai_epi32::<N>(a) }
    fn bits(a: __m512) -> __m512i { _mm512_castps_si512(a) }
    fn floats(a: __m512i) -> __m512 { _mm512_castsi512_ps(a) }
    fn to_f(a: __m512i) -> __m512 { _mm512_cvtepi32_ps(a) }
    fn round_i(a: __m512) -> __m512i { _mm512_cvtps_epi32(a) }
    fn gather(table: &[u32; 256], index: __m512i) -> __m512i {
        let index = _mm512_and_si512(index, _mm512_set1_epi32(255));
        _mm512_i32gather_epi32::<4>(index, table.as_ptr().cast())
    }
    fn and_m(a: __mmask16, b: __mmask16) -> __mmask16 { a & b }
    fn any(m: __mmask16) -> bool { m != 0 }
    fn all() -> __mmask16 { !0 }
    fn count(a: __m512i, m: __mmask16) -> __m512i { _mm512_mask_add_epi32(a, m, a, _mm512_set1_epi32(1)) }
}
