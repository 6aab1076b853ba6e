//! Windows of guest memory and what a program depends on.

use super::{Code, CodeAt, CodeSource as _};

#[test]
fn far_places_get_positions_of_their_own() {
    let pieces = [
        CodeAt { address: 0x1_0000_0ff8, bytes: &[1; 16] },
        CodeAt { address: 0xffff_8000_0000_0000, bytes: &[2; 8] },
    ];
    let source = pieces;
    let code = Code::scattered(&source, 0x1_0000_0ff8);
    let entry = code.lead(0x1_0000_0ff8).unwrap();
    let far = code.lead(0xffff_8000_0000_0000).unwrap();
    assert_eq!(code.address(entry + 4), 0x1_0000_0ffc);
    assert_eq!(code.address(far - 4), 0xffff_7fff_ffff_fffc);
    assert_eq!(code.bytes(entry)[..], [1; 16]);
    assert_eq!(code.bytes(entry - 4)[..], []);
    assert_eq!(code.bytes(far + 4)[..], [2; 4]);
    assert_eq!(code.known(0xffff_8000_0000_0004), Some(far + 4));
    assert_eq!(code.known(0xffff_8000_0000_0008), None);
    assert_eq!(code.known(0x4000), None);
    // A branch that leaves the range behind its last position.
    assert_eq!(code.branch(entry, u64::from(entry) + 0x20), Some(entry + 0x20));
    let gone = code.branch(entry, u64::from(entry).wrapping_sub(0x400_0000)).unwrap();
    assert_eq!(code.address(gone), 0xfc00_0ff8);
    code.depend(entry, 8);
    code.depend(entry + 4, 16);
    code.depend(far + 4, 8);
    let map = code.into_map().unwrap();
    assert_eq!(map.ranges(), [0x1_0000_0ff8..0x1_0000_100c, 0xffff_8000_0000_0004..0xffff_8000_0000_000c]);
    assert_eq!(map.address_of(far), 0xffff_8000_0000_0000);
    assert_eq!((map.bytes_at(entry + 12), map.bytes_at(far + 4)), (&[1u8; 4][..], &[2u8; 4][..]));
    assert!(map.is_current(&source, 0));
    // One byte has changed; and one that could not be read is there now.
    let changed =
        [CodeAt { bytes: &[1, 1, 1, 1, 1, 1, 1, 1, 1, 3, 1, 1, 1, 1, 1, 1], ..pieces[0] }, pieces[1]];
    assert!(!map.is_current(&changed, 0));
    let more = [pieces[0], CodeAt { bytes: &[2; 9], ..pieces[1] }];
    assert!(!map.is_current(&more, 0));
}

#[test]
fn ranges_do_not_overlap() {
    let source = CodeAt { address: 0, bytes: &[] };
    let code = Code::scattered(&source, 0x1000_0000);
    // Each just behind or before what there is.
    for address in [0x1200_0000, 0x1600_0000, 0xe00_0000, 0x0, 0x1400_0000, u64::MAX] {
        let position = code.lead(address).unwrap();
        assert_eq!(code.address(position), address, "{address:#x}");
        assert_eq!(code.lead(address), Some(position));
    }
    let mut ranges = code.ranges();
    ranges.sort_by_key(|range| range.1);
    for pair in ranges.windows(2) {
        assert!(
            pair[0].1.wrapping_add(pair[0].2.into()) <= pair[1].1 || pair[0].1 > pair[1].1,
            "{ranges:x?}"
        );
    }
    // Running out of a range is not silently something else.
    let (position, _, bytes) = code.ranges()[0];
    assert_eq!(code.bytes(position + bytes)[..], []);
    assert!(code.into_map().is_err());
}

#[test]
fn there_are_not_endless_places() {
    let source = CodeAt { address: 0, bytes: &[] };
    let code = Code::scattered(&source, 0);
    let found = (1..100).filter(|n| code.lead(n << 32).is_some()).count();
    assert_eq!(found, 62);
    assert!(code.into_map().is_err());
}

#[test]
fn a_segment_counts_from_its_beginning() {
    let source = CodeAt { address: 0x20_0000_0100, bytes: &[7; 16] };
    let code = Code::segment(&source, 0x20_0000_0000, None);
    assert_eq!((code.address(0x108), code.bytes(0x108).len()), (0x20_0000_0108, 8));
    assert_eq!(code.lead(0x1f_ffff_ff00), None);
    let mut out = [0; 2];
    assert_eq!(source.read(0x20_0000_010f, &mut out), 1);
}
