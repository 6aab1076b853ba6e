//! Writes a code object with one kernel for Fiji, in Mesa's form and as a compiler leaves it. Tests use it because, unlike raw
//! words, a code object defines what a launch sets up.

/// `e_flags` of Fiji.
const FIJI: u32 = 0x2a;
/// Bytes of `amd_kernel_code_t`, the code follows.
const HEAD_BYTES: usize = 256;
/// Where sections begin in the file.
const FIRST: usize = 256;
/// What Mesa has behind the arguments.
const HIDDEN_BYTES: u32 = 16;

/// Puts numbers into a table, by offset.
fn put(to: &mut [u8], numbers: &[(usize, u32)]) {
    for &(at, number) in numbers {
        to[at..at + 4].copy_from_slice(&number.to_le_bytes());
    }
}

/// A kernel `k` for Fiji. Its arguments are at the address in s0 and s1; s2, s3 and s4 are its workgroup, v0, v1 and v2
/// the thread; it has 64 registers of each kind.
pub fn fiji_object(code: &[u8], shared_bytes: u32, args_bytes: u32) -> Vec<u8> {
    let mut text = vec![0; HEAD_BYTES];
    // 64 VGPRs, 64 SGPRs, denormals of f64; two user SGPRs, three axes of workgroups, three of threads.
    let (rsrc1, rsrc2) = (15 | 7 << 6 | 0xc0 << 12, 2 << 1 | 7 << 7 | 2 << 11);
    let arguments_at = 1 << 3;
    put(
        &mut text,
        &[
            (0, 1),
            (16, HEAD_BYTES as u32),
            (48, rsrc1),
            (52, rsrc2),
            (56, arguments_at),
            (64, shared_bytes),
            (72, args_bytes + HIDDEN_BYTES),
        ],
    );
    text.extend(code);
    // None, then a function of the kind of kernels in the first section.
    let mut symbols = vec![0; 48];
    put(&mut symbols[24..], &[(0, 1), (4, 0x1a | 1 << 16), (16, text.len() as u32)]);
    let (symbols_at, names_at) = (FIRST + text.len(), FIRST + text.len() + 48);
    let names = b"\0k\0\0";
    let mut file = vec![0; FIRST];
    file[..9].copy_from_slice(b"\x7fELF\x02\x01\x01\x42\x00");
    let sections_at = names_at + names.len();
    // Relocatable, for the machine; sizes of this header and of sections', four of those, names in the third.
    put(&mut file, &[(16, 1 | 224 << 16), (20, 1), (40, sections_at as u32), (48, FIJI)]);
    put(&mut file, &[(52, 64), (56, 64 << 16), (60, 4 | 3 << 16)]);
    file.extend(&text);
    file.extend(&symbols);
    file.extend(names);
    // Type, flags, offset, bytes, link and info, alignment, bytes of an entry.
    for [kind, flags, at, bytes, link, info, align, entry] in [
        [0; 8],
        [1, 6, FIRST, text.len(), 0, 0, 256, 0],
        [2, 0, symbols_at, 48, 3, 1, 8, 24],
        [3, 0, names_at, names.len(), 0, 0, 1, 0],
    ] {
        let mut section = [0; 64];
        let fields =
            [(4, kind), (8, flags), (24, at), (32, bytes), (40, link), (44, info), (48, align), (56, entry)];
        put(&mut section, &fields.map(|(at, number)| (at, number as u32)));
        file.extend(section);
    }
    file
}
