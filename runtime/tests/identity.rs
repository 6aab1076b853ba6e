//! Spaces whose addresses are the host's: all kinds of accesses reach what the space has handed out, by its own pointer, and nothing else
//! of the process, in every tier and for every host.

#![allow(clippy::single_range_in_vec_init, reason = "lists of ranges are what is compared")]

mod identity_space;

use identity_space::{KINDS, PAGE, Space, add_much_elsewhere, chosen, engines};
use warpjit_frontend::tesla;
use warpjit_runtime::{Access, Arg, FaultKind, Isa, Launch, Memory, MemoryOptions, Program, ProgramOptions};

const COPY: &str = "flat_load_dword v7, v[2:3]
    s_waitcnt vmcnt(0) lgkmcnt(0)
    flat_store_dword v[4:5], v7";

#[test]
fn what_is_handed_out_is_as_in_other_spaces() {
    let space = Space::new(COPY);
    let bytes = 4 * 64 * 64;
    for engine in engines() {
        let from = space.memory.map(None, bytes, Access::ReadWrite).unwrap();
        let to = space.memory.map(None, bytes, Access::ReadWrite).unwrap();
        space.fill(from, 0..64 * 64);
        assert_eq!(space.run(&engine, 64, from, to), None);
        assert!(space.words(to, 64 * 64).into_iter().eq(0..64 * 64));
        // SAFETY: the library says that the address is the host's.
        let last =
            unsafe { std::ptr::with_exposed_provenance::<u32>((to + bytes) as usize).sub(1).read_volatile() };
        assert_eq!(last, 64 * 64 - 1);
        space.memory.unmap(from).unwrap();
        assert_eq!(space.run(&engine, 1, from, to), Some((from, 0, false)));
        space.memory.unmap(to).unwrap();
    }
    assert!(!space.memory.is_careful());
}

#[test]
fn nothing_else_of_the_process_is_reached() {
    let beside = Box::new([0x5555_5555_u32; 64]);
    let on_stack = [0x5555_5555_u32; 64];
    static STATIC: [u32; 64] = [0x5555_5555; 64];
    for ((text, store), much) in KINDS.into_iter().flat_map(|kind| [(kind, false), (kind, true)]) {
        let space = Space::new(&format!("{text}\n s_waitcnt vmcnt(0) & lgkmcnt(0)"));
        if much {
            space.add_much_elsewhere();
        }
        let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
        let constant = space.memory.map(None, PAGE, Access::ReadOnly).unwrap();
        let gone = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
        space.memory.unmap(gone).unwrap();
        let others = [beside.as_ptr(), on_stack.as_ptr(), STATIC.as_ptr()].map(|at| at.addr() as u64 & !0xff);
        let near = [own + PAGE, gone, own - PAGE, own + (1 << 34), own.wrapping_sub(1 << 34)];
        let far = [own ^ 1 << 41, own ^ 1 << 46, own | 1 << 63, own + (1 << 40), 0xffff_8000_0000_0000];
        let low = [0, 0x1000, 0x40_0000, 1 << 32, 0x7fff_ffff_f000, own & 0xffff_ffff, !0xff];
        let all = others.into_iter().chain(near).chain(far).chain(low);
        for engine in engines() {
            assert_eq!(space.run(&engine, 1, own, own), None, "{text}: {:?}", engine.config());
            let expected = if store { Some((constant, 0, true)) } else { None };
            assert_eq!(space.run(&engine, 1, constant, own), expected, "{text}: {:?}", engine.config());
            for at in all.clone() {
                let found = space.run(&engine, 1, at, own);
                assert_eq!(found, Some((at, 0, store)), "{text} at {at:#x}: {:?}", engine.config());
            }
            // Some lanes are still inside; scalar accesses are the wave's.
            if !text.starts_with("s_") && !text.contains("dwordx4") {
                let found = space.run(&engine, 1, own + PAGE - 32, own);
                assert_eq!(found, Some((own + PAGE, 8, store)), "{text}: {:?}", engine.config());
            }
        }
        assert!(!space.memory.is_careful());
    }
    assert!(beside.iter().chain(&on_stack).all(|&word| word == 0x5555_5555));
}

#[test]
fn scattered_lanes_reach_their_own_memory() {
    // Lane n takes the word at 8 times the reverse of its bits.
    let text = "v_bfrev_b32 v7, v1
        v_lshrrev_b32 v7, 23, v7
        v_add_u32 v2, vcc, s0, v7
        v_mov_b32 v3, s1
        v_addc_u32 v3, vcc, 0, v3, vcc
        flat_load_dwordx2 v[8:9], v[2:3]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_add_u32 v8, vcc, v8, v9
        flat_store_dword v[4:5], v8
        v_mov_b32 v9, 1
        flat_atomic_add v[2:3], v9";
    let space = Space::new(text);
    let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
    let chosen = space.memory.map(Some(chosen()), PAGE, Access::ReadWrite).unwrap();
    let out = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
    let places = [(own, false), (chosen, false), (chosen, true), (own, true)];
    for (engine, (own, much)) in
        places.into_iter().flat_map(|place| engines().into_iter().map(move |e| (e, place)))
    {
        if much {
            space.add_much_elsewhere();
        }
        space.fill(own, 0..1024);
        assert_eq!(space.run(&engine, 1, own, out), None);
        // 2^9 of the reversed number: bit k of the lane is bit 8 - k.
        let place = |lane: u32| (lane.reverse_bits() >> 23) / 4;
        let sums: Vec<u32> = (0..64).map(|lane| 2 * place(lane) + 1).collect();
        assert_eq!(space.words(out, 64), sums, "{:?}", engine.config());
        let mut counted: Vec<u32> = (0..1024).collect();
        (0..64).for_each(|lane| counted[place(lane) as usize] += 1);
        assert_eq!(space.words(own, 1024), counted, "{:?}", engine.config());
    }
}

#[test]
fn memory_that_others_have_chosen_is_reached_too() {
    #[repr(align(4096))]
    struct Page([u32; 1024]);
    let space = Space::new(COPY);
    let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
    space.fill(own, 0..64);
    // An address at which the system puts nothing by itself.
    let chosen = 0x2b00_0000_0000;
    for engine in engines() {
        let mut page = Box::new(Page([7; 1024]));
        let pointer = (&raw mut page.0).cast::<u8>();
        // SAFETY: the box outlives the mapping, and is accessed through this pointer only.
        let host = unsafe { space.memory.map_host(None, pointer, PAGE, Access::ReadWrite) }.unwrap();
        space.memory.map(Some(chosen), PAGE, Access::ReadWrite).unwrap();
        assert_eq!(space.run(&engine, 1, own, host), None);
        assert_eq!(space.run(&engine, 1, host, chosen), None);
        assert!(space.words(chosen, 64).into_iter().eq(0..64));
        space.memory.unmap(chosen).unwrap();
        space.memory.unmap(host).unwrap();
        assert_eq!(space.run(&engine, 1, own, host), Some((host, 0, true)));
    }
    // Where the space hands out addresses, nobody else puts anything.
    let inside = std::ptr::with_exposed_provenance_mut::<u8>((own + (1 << 20)) as usize);
    // SAFETY: it is refused.
    assert!(unsafe { space.memory.map_host(None, inside, PAGE, Access::ReadWrite) }.is_err());
}

/// A guest with 32-bit addresses reaches nothing, whatever the process has there.
#[test]
fn guests_of_32_bits_find_nothing() {
    for much in [false, true] {
        guests_of_32_bits_find_nothing_in(much);
    }
}

fn guests_of_32_bits_find_nothing_in(much: bool) {
    let source = "
        mov b32 $r1 b32 s[0x10]
        ld b32 $r2 g14[$r1]
        add b32 $r1 $r1 $r2
        exit st b32 g14[$r1] $r2
    ";
    let code = tesla::assemble(source, tesla::Target::compute(tesla::Chip::G80)).unwrap().code;
    let options = ProgramOptions::new(Isa::Tesla).chip(Some("g80".parse().unwrap())).registers(Some(4));
    let program = Program::load(&code, &options).unwrap();
    let memory = Memory::with(&MemoryOptions::new().identity()).unwrap();
    let own = memory.map(None, PAGE, Access::ReadWrite).unwrap();
    if much {
        add_much_elsewhere(&memory);
    }
    for engine in engines() {
        for at in [0, 0x40_0000, own as u32 & !3, 0xffff_fff0] {
            let launch = Launch::default().grid([1; 3]).block([32, 1, 1]).args(vec![Arg::u32(at)]);
            let fault = engine.run(&program, &memory, &launch).unwrap().fault.unwrap();
            let found = (fault.kind, fault.address, fault.lane, fault.store);
            assert_eq!(found, (FaultKind::Memory, Some(at.into()), 0, false), "{:?}", engine.config());
        }
    }
}

#[test]
fn addresses_are_handed_out_again() {
    let memory = Memory::with(&MemoryOptions::new().identity()).unwrap();
    let first = memory.map(None, 3 * PAGE, Access::ReadWrite).unwrap();
    let large = memory.map(None, 4 << 20, Access::ReadWrite).unwrap();
    assert_eq!(large % (2 << 20), 0);
    memory.write(first, &[1; 3 * PAGE as usize]).unwrap();
    memory.unmap(first).unwrap();
    // By name, in parts, and zero again.
    let middle = memory.map(Some(first + PAGE), PAGE, Access::ReadWrite).unwrap();
    assert_eq!(memory.load(middle, 8).unwrap(), 0);
    assert!(memory.load(first, 4).is_err() && memory.load(first + 2 * PAGE, 4).is_err());
    assert!(memory.map(Some(first), 2 * PAGE, Access::ReadWrite).is_err());
    memory.unmap(middle).unwrap();
    for _ in 0..1000 {
        let at = memory.map(None, PAGE, Access::ReadWrite).unwrap();
        memory.unmap(at).unwrap();
    }
    assert_eq!(memory.map(None, PAGE, Access::ReadWrite).unwrap(), first);
    assert!(!memory.is_careful());
}

#[repr(align(4096))]
struct Pages([[u8; PAGE as usize]; 4]);

/// Pages of the test, and their addresses.
fn pages_of_embedder() -> (Box<Pages>, [*mut u8; 4]) {
    let mut pages = Box::new(Pages([[0; PAGE as usize]; 4]));
    let at = [0, 1, 2, 3].map(|n| (&raw mut pages.0[n]).cast::<u8>());
    (pages, at)
}

fn host(at: u64) -> *mut u8 {
    std::ptr::with_exposed_provenance_mut(at as usize)
}

#[test]
fn what_was_handed_out_is_tracked_page_by_page() {
    let text = "flat_store_dword v[2:3], v1";
    for (number, engine) in engines().into_iter().chain(engines()).enumerate() {
        let space = Space::new(text);
        let memory = &space.memory;
        let much = if number >= engines().len() { space.add_much_elsewhere() } else { 0 };
        let own = memory.map(None, 4 * PAGE, Access::ReadWrite).unwrap();
        let shared = memory.map_shared(None, 2 * PAGE, Access::ReadWrite).unwrap();
        let constant = memory.map(None, PAGE, Access::ReadOnly).unwrap();
        // What was not handed out counts each time.
        let taken = || {
            let mut found = memory.take_dirty(0..1 << 47).unwrap();
            found.retain(|range| range.start != much);
            found
        };
        let page = |base: u64, number: u64| base + number * PAGE..base + (number + 1) * PAGE;
        let mut all = [own..own + 4 * PAGE, shared..shared + 2 * PAGE];
        all.sort_by_key(|range| range.start);
        assert_eq!(taken(), all);
        assert_eq!(taken(), [], "{:?}", engine.config());
        assert_eq!(space.run(&engine, 1, own + PAGE, own), None);
        assert_eq!(taken(), [page(own, 1)], "{:?}", engine.config());
        assert_eq!(space.run(&engine, 1, shared, own), None);
        assert_eq!(taken(), [page(shared, 0)], "{:?}", engine.config());
        // A wave whose lanes are on two pages.
        assert_eq!(space.run(&engine, 1, own + 3 * PAGE - 128, own), None);
        assert_eq!(taken(), [own + 2 * PAGE..own + 4 * PAGE], "{:?}", engine.config());
        // What may not be stored to is not written.
        assert_eq!(space.run(&engine, 1, constant, own), Some((constant, 0, true)));
        assert_eq!(taken(), []);
        // The host's stores: by the library, and by the pointer.
        memory.write(own, &[1]).unwrap();
        // SAFETY: memory that the space has handed out, and nothing runs.
        unsafe { host(own + 3 * PAGE).write_volatile(7) };
        assert_eq!(taken(), [page(own, 0), page(own, 3)]);
        assert_eq!(memory.load(own + 3 * PAGE, 1).unwrap(), 7);
        // What is unmapped and mapped again is new, also if it was clean; what is protected for a while stays tracked.
        memory.unmap(own).unwrap();
        assert_eq!(memory.map(Some(own), PAGE, Access::ReadWrite).unwrap(), own);
        assert_eq!(taken(), [page(own, 0)]);
        memory.protect(page(own, 0), Access::ReadOnly).unwrap();
        assert_eq!(taken(), []);
        memory.protect(page(own, 0), Access::ReadWrite).unwrap();
        taken();
        assert_eq!(space.run(&engine, 1, own, own), None);
        assert_eq!(taken(), [page(own, 0)]);
    }
}

#[test]
fn what_was_not_handed_out_counts_as_written_and_is_left_alone() {
    let space = Space::new("flat_store_dword v[2:3], v1");
    let memory = &space.memory;
    let (pages, [first, constant, third, _]) = pages_of_embedder();
    let own = memory.map(None, 2 * PAGE, Access::ReadWrite).unwrap();
    // SAFETY: the box outlives the mappings, and is accessed through these pointers only meanwhile.
    let [rw, ro, other] = unsafe {
        [(first, Access::ReadWrite), (constant, Access::ReadOnly), (third, Access::ReadWrite)]
            .map(|(at, access)| memory.map_host(None, at, PAGE, access).unwrap())
    };
    // Addresses at which the system puts nothing by itself.
    let [chosen, alias] = [(); 2].map(|()| chosen());
    memory.map(Some(chosen), PAGE, Access::ReadWrite).unwrap();
    memory.map_alias(Some(alias), own + PAGE, PAGE, Access::ReadWrite).unwrap();
    let others = {
        let mut all = [rw..rw + PAGE, other..other + PAGE, chosen..chosen + PAGE, alias..alias + PAGE];
        all.sort_by_key(|range| range.start);
        all
    };
    let taken_in = |range: std::ops::Range<u64>| memory.take_dirty(range).unwrap();
    let taken = || {
        let found = taken_in(0..1 << 47);
        let (of_others, of_own): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|range| others.contains(range));
        assert_eq!(of_others, others);
        of_own
    };
    assert_eq!(taken(), [own..own + 2 * PAGE]);
    for engine in engines() {
        assert_eq!(taken(), []);
        for at in [rw, other, chosen] {
            assert_eq!(space.run(&engine, 1, at, own), None, "{:?}", engine.config());
            assert_eq!(taken(), []);
        }
        assert_eq!(space.run(&engine, 1, ro, own), Some((ro, 0, true)));
        // Pages that the space has handed out are tracked all the same.
        assert_eq!(space.run(&engine, 1, own, own), None);
        assert_eq!(taken(), [own..own + PAGE], "{:?}", engine.config());
        // Also if the store comes through an alias.
        assert_eq!(space.run(&engine, 1, alias, own), None);
        assert_eq!(taken(), [own + PAGE..own + 2 * PAGE], "{:?}", engine.config());
    }
    // The embedder's pages can be stored to without a signal: the system does.
    let zeros = || std::fs::File::open("/dev/zero").unwrap();
    for at in [first, third, host(chosen)] {
        // SAFETY: mapped pages, and nothing runs.
        let bytes = unsafe { std::slice::from_raw_parts_mut(at, PAGE as usize) };
        std::io::Read::read_exact(&mut zeros(), bytes).unwrap();
    }
    // Only a part of a range is asked for.
    assert_eq!(taken_in(rw..rw + PAGE), [rw..rw + PAGE]);
    assert_eq!(taken_in(ro..ro + PAGE), []);
    for at in [rw, ro, other, alias] {
        memory.unmap(at).unwrap();
    }
    drop(pages);
}

#[test]
fn spaces_track_stores_side_by_side() {
    let spaces: Vec<_> = (0..4).map(|_| Memory::with(&MemoryOptions::new().identity()).unwrap()).collect();
    let at: Vec<_> =
        spaces.iter().map(|space| space.map(None, 2 * PAGE, Access::ReadWrite).unwrap()).collect();
    let taken = |number: usize| spaces[number].take_dirty(0..1 << 47).unwrap();
    (0..4).for_each(|number| assert_eq!(taken(number), [at[number]..at[number] + 2 * PAGE]));
    for (number, &own) in at.iter().enumerate() {
        // SAFETY: memory that the space has handed out.
        unsafe { host(own + PAGE).write_volatile(1) };
        let found: Vec<_> = (0..4).map(taken).collect();
        let expected: Vec<_> = (0..4)
            .map(|other| if other == number { vec![own + PAGE..own + 2 * PAGE] } else { vec![] })
            .collect();
        assert_eq!(found, expected);
    }
    // A space that another one has registered memory of: each counts for itself.
    // SAFETY: memory of the first space, which outlives this.
    unsafe { spaces[1].map_host(None, host(at[0]), PAGE, Access::ReadWrite) }.unwrap();
    spaces[1].store(at[0], 4, 1).unwrap();
    assert_eq!((taken(0), taken(1)), (vec![at[0]..at[0] + PAGE], vec![at[0]..at[0] + PAGE]));
    assert_eq!((taken(0), taken(1)), (vec![], vec![at[0]..at[0] + PAGE]));
    spaces[1].unmap(at[0]).unwrap();
}

#[test]
fn system_calls_need_pages_that_are_marked() {
    let file = std::env::temp_dir().join(format!("warpjit-system-calls-{}", std::process::id()));
    std::fs::write(&file, [9; 3 * PAGE as usize]).unwrap();
    let read_into = |pointer: *mut u8| {
        // SAFETY: mapped memory of the guest, and nothing runs.
        let bytes = unsafe { std::slice::from_raw_parts_mut(pointer, 2 * PAGE as usize) };
        std::io::Read::read_exact(&mut std::fs::File::open(&file).unwrap(), bytes)
    };
    for options in [MemoryOptions::new().identity(), MemoryOptions::new(), MemoryOptions::new().size(1 << 20)]
    {
        let memory = Memory::with(&options).unwrap();
        // Before anything is tracked, there is nothing to mark.
        memory.mark_dirty(0..u64::MAX).unwrap();
        let at = memory.map(None, 4 * PAGE, Access::ReadWrite).unwrap();
        let constant = memory.map(None, PAGE, Access::ReadOnly).unwrap();
        let pointer = memory.base().wrapping_add((at + PAGE) as usize);
        let taken = || memory.take_dirty(0..1 << 20 << 27).unwrap();
        assert_eq!(taken(), [at..at + 4 * PAGE]);
        const EFAULT: i32 = 14;
        assert_eq!(read_into(pointer).unwrap_err().raw_os_error(), Some(EFAULT));
        // Addresses need not be at pages.
        memory.mark_dirty(at + PAGE + 7..at + 2 * PAGE + 1).unwrap();
        read_into(pointer).unwrap();
        assert_eq!(memory.load(at + 3 * PAGE - 1, 1).unwrap(), 9);
        assert_eq!(taken(), [at + PAGE..at + 3 * PAGE]);
        assert_eq!(taken(), []);
        assert!(read_into(pointer).is_err());
        // What may only be read stays so; nothing is mapped in between.
        memory.mark_dirty(0..u64::MAX).unwrap();
        assert_eq!(taken(), [at..at + 4 * PAGE]);
        assert!(memory.store(constant, 4, 1).is_err());
        memory.mark_dirty(at + PAGE..at).unwrap();
        assert_eq!(taken(), []);
    }
    std::fs::remove_file(&file).unwrap();
}

/// What a device ignores of addresses makes no difference, and no slower code.
#[test]
fn ignored_bits_are_not_looked_at() {
    // Addresses have 56 bits, the highest of which is repeated. Atomics name the address as the guest has it.
    let named =
        |text: &str, at: u64| if text.contains("atomic") { at } else { ((at << 8) as i64 >> 8) as u64 };
    for tag in [0, 1 << 56, 0xa5 << 56, 0xff << 56] {
        for (text, store) in KINDS {
            let text = format!("{text}\n s_waitcnt vmcnt(0) & lgkmcnt(0)");
            let space = Space::with(&text, &MemoryOptions::new().identity().ignore_high_bits(8));
            let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
            let constant = space.memory.map(None, PAGE, Access::ReadOnly).unwrap();
            for engine in engines() {
                assert_eq!(space.run(&engine, 1, own | tag, own), None, "{text}: {:?}", engine.config());
                let expected = if store { Some((named(&text, constant | tag), 0, true)) } else { None };
                assert_eq!(
                    space.run(&engine, 1, constant | tag, own),
                    expected,
                    "{text}: {:?}",
                    engine.config()
                );
                for at in [0, 1 << 32, own ^ 1 << 41, own ^ 1 << 46, own + (1 << 40), own | 1 << 55] {
                    let expected = Some((named(&text, at | tag), 0, store));
                    let found = space.run(&engine, 1, at | tag, own);
                    assert_eq!(found, expected, "{text} at {at:#x}: {:?}", engine.config());
                }
            }
            assert!(!space.memory.is_careful());
        }
    }
}

/// Lanes side by side of all widths, with bits that are ignored, in the space's own memory and elsewhere, a little and much: what is
/// copied, and which lane faults at the end of memory.
#[test]
fn lanes_side_by_side_are_copied_to_the_end_of_memory() {
    for (load, store, data, bytes) in [
        ("ubyte", "byte", "v8", 1),
        ("sshort", "short", "v8", 2),
        ("dword", "dword", "v8", 4),
        ("dwordx2", "dwordx2", "v[8:9]", 8),
        ("dwordx4", "dwordx4", "v[8:11]", 16_u64),
    ] {
        let source = format!(
            "s_lshl_b32 s4, s4, 6
            v_add_u32 v1, vcc, s4, v0
            v_lshlrev_b32 v6, {}, v1
            v_add_u32 v2, vcc, s0, v6
            v_mov_b32 v3, s1
            v_addc_u32 v3, vcc, 0, v3, vcc
            v_add_u32 v4, vcc, s2, v6
            v_mov_b32 v5, s3
            v_addc_u32 v5, vcc, 0, v5, vcc
            flat_load_{load} {data}, v[2:3]
            s_waitcnt vmcnt(0) & lgkmcnt(0)
            flat_store_{store} v[4:5], {data}
            s_endpgm",
            bytes.trailing_zeros()
        );
        for (much, bits) in [(false, 0), (false, 8), (true, 8)] {
            let space = Space::of(&source, &MemoryOptions::new().identity().ignore_high_bits(bits), 0);
            let from = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
            let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
            let other = space.memory.map(Some(chosen()), PAGE, Access::ReadWrite).unwrap();
            if much {
                space.add_much_elsewhere();
            }
            let tag = if bits == 0 { 0 } else { 0x5a << 56 };
            let wanted: Vec<u8> = (0..128 * bytes).map(|n| (n * 37 + n / 256) as u8).collect();
            space.memory.write(from, &wanted).unwrap();
            for engine in engines() {
                for to in [own, other] {
                    space.memory.write(to, &vec![0; PAGE as usize]).unwrap();
                    let say = || format!("{load}, {much}, {bits}, {:?}", engine.config());
                    assert_eq!(space.run(&engine, 2, from | tag, to | tag), None, "{}", say());
                    let mut found = vec![0; wanted.len()];
                    space.memory.read(to, &mut found).unwrap();
                    assert!(found == wanted, "{}", say());
                    let end = to + PAGE;
                    let found = space.run(&engine, 1, from | tag, end - 41 * bytes);
                    assert_eq!(found, Some((end, 41, true)), "{}", say());
                    let found = space.run(&engine, 1, (end - 7 * bytes) | tag, to);
                    assert_eq!(found, Some((end, 7, false)), "{}", say());
                }
            }
            assert!(!space.memory.is_careful());
        }
    }
}

/// The range begins where it is wanted, once in a process. Addresses that are chosen in it make nothing slower, others only as long as they
/// are mapped.
#[test]
fn ranges_begin_where_they_are_wanted() {
    let start = 0x31_0000_0000;
    let options = MemoryOptions::new().identity_from(start);
    let space = Space::with(COPY, &options);
    let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
    assert!((start..start + (1 << 32)).contains(&own));
    let (inside, outside) = (start + (1 << 38), chosen());
    assert_eq!(space.memory.map(Some(inside), PAGE, Access::ReadWrite).unwrap(), inside);
    space.fill(own, 0..64);
    for engine in engines() {
        space.memory.write(inside, &[0; 256]).unwrap();
        assert_eq!(space.run(&engine, 1, own, inside), None);
        assert!(space.words(inside, 64).into_iter().eq(0..64), "{:?}", engine.config());
        assert!(!space.memory.is_careful());
        assert_eq!(space.run(&engine, 1, inside, outside), Some((outside, 0, true)));
        for pages in [1, 40, 2] {
            space.memory.map(Some(outside), PAGE, Access::ReadWrite).unwrap();
            space.memory.map(Some(outside + 2 * PAGE), pages * PAGE, Access::ReadWrite).unwrap();
            assert!(!space.memory.is_careful());
            assert_eq!(space.run(&engine, 1, inside, outside), None);
            assert!(space.words(outside, 64).into_iter().eq(0..64), "{:?}", engine.config());
            space.memory.unmap(outside).unwrap();
            assert!(!space.memory.is_careful());
            space.memory.unmap(outside + 2 * PAGE).unwrap();
            assert!(!space.memory.is_careful());
        }
        assert_eq!(space.run(&engine, 1, inside, outside), Some((outside, 0, true)));
        assert_eq!(space.run(&engine, 1, outside, inside), Some((outside, 0, false)));
    }
    // Another space finds the addresses taken, and has others.
    let other = Memory::with(&options).unwrap();
    let elsewhere = other.map(None, PAGE, Access::ReadWrite).unwrap();
    assert!(elsewhere.abs_diff(start) > 1 << 40 && !other.is_careful());
    for bad in [0, 1 << 30, start + 4096, 1 << 47, u64::MAX << 21] {
        assert!(Memory::with(&MemoryOptions::new().identity_from(bad)).is_err(), "{bad:#x}");
    }
}

/// A little memory elsewhere, and much, is reached by all kinds of accesses, also where some lanes of a warp are there and some are not;
/// what is not mapped there is a fault.
#[test]
fn memory_elsewhere_is_reached() {
    for (much, tag, bits) in [(false, 0, 0), (false, 0x13 << 56, 8), (true, 0, 0), (true, 0x13 << 56, 8)] {
        for (text, store) in KINDS {
            let code = format!("{text}\n s_waitcnt vmcnt(0) & lgkmcnt(0)");
            let options = MemoryOptions::new().identity().ignore_high_bits(bits);
            let space = Space::with(&code, &options);
            let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
            let chosen = space.memory.map(Some(chosen()), PAGE, Access::ReadWrite).unwrap();
            let constant = space.memory.map(Some(chosen + PAGE), PAGE, Access::ReadOnly).unwrap();
            if much {
                space.add_much_elsewhere();
            }
            assert!(!space.memory.is_careful());
            let named =
                |at: u64| if text.contains("atomic") { at } else { ((at << bits) as i64 >> bits) as u64 };
            for engine in engines() {
                for good in [own, chosen, chosen + 512] {
                    assert_eq!(space.run(&engine, 1, good | tag, own), None, "{text}: {:?}", engine.config());
                }
                let expected = if store { Some((named(constant | tag), 0, true)) } else { None };
                assert_eq!(
                    space.run(&engine, 1, constant | tag, own),
                    expected,
                    "{text}: {:?}",
                    engine.config()
                );
                for at in [0, 1 << 32, chosen - PAGE, constant + PAGE, chosen ^ 1 << 46, own + PAGE] {
                    let expected = Some((named(at | tag), 0, store));
                    assert_eq!(
                        space.run(&engine, 1, at | tag, own),
                        expected,
                        "{text}: {:?}",
                        engine.config()
                    );
                }
                if store && !text.contains("dwordx4") {
                    let found = space.run(&engine, 1, (constant - 32) | tag, own);
                    assert_eq!(
                        found,
                        Some((named(constant | tag), 8, true)),
                        "{text}: {:?}",
                        engine.config()
                    );
                }
            }
        }
    }
    // Lanes that take no part would be beyond the page, where nothing is mapped on either side.
    for (text, _) in KINDS {
        for (condition, before) in [("v_cmp_gt_u32", PAGE - 32), ("v_cmp_le_u32", 32_u64.wrapping_neg())] {
            if text.starts_with("s_") || text.contains("dwordx4") {
                continue;
            }
            let code = format!(
                "{condition} vcc, 8, v1
                s_and_saveexec_b64 s[10:11], vcc
                {text}
                s_waitcnt vmcnt(0) & lgkmcnt(0)
                s_mov_b64 exec, s[10:11]"
            );
            let space = Space::new(&code);
            let chosen = space.memory.map(Some(chosen()), PAGE, Access::ReadWrite).unwrap();
            for (number, engine) in engines().into_iter().chain(engines()).enumerate() {
                if number == engines().len() {
                    space.add_much_elsewhere();
                }
                let found = space.run(&engine, 1, chosen.wrapping_add(before), chosen);
                assert_eq!(found, None, "{text}: {:?}", engine.config());
            }
        }
    }
    // Each lane by its number: even ones take what was handed out, odd ones what was chosen.
    let text = "v_and_b32 v7, 1, v1
        v_cmp_eq_u32 vcc, 1, v7
        v_cndmask_b32 v2, v2, v4, vcc
        v_cndmask_b32 v3, v3, v5, vcc
        flat_load_dword v8, v[2:3]
        s_waitcnt vmcnt(0) lgkmcnt(0)
        v_add_u32 v8, vcc, 0x100, v8
        flat_store_dword v[2:3], v8
        v_mov_b32 v9, 0x1000
        flat_atomic_add v[2:3], v9";
    let space = Space::new(text);
    let own = space.memory.map(None, PAGE, Access::ReadWrite).unwrap();
    let chosen = space.memory.map(Some(chosen()), PAGE, Access::ReadWrite).unwrap();
    for (number, engine) in engines().into_iter().chain(engines()).enumerate() {
        if number == engines().len() {
            space.add_much_elsewhere();
        }
        space.fill(own, 0..128);
        space.fill(chosen, 0..128);
        assert_eq!(space.run(&engine, 2, own, chosen), None);
        let with =
            |odd: u32| (0..128).map(move |n| if n % 2 == odd { n + 0x1100 } else { n }).collect::<Vec<u32>>();
        assert_eq!(space.words(own, 128), with(0), "{:?}", engine.config());
        assert_eq!(space.words(chosen, 128), with(1), "{:?}", engine.config());
    }
}

#[test]
fn what_cannot_be_mapped_is_told_as_in_other_spaces() {
    let file = std::fs::File::open("/proc/self/exe").unwrap();
    let errors = [MemoryOptions::new(), MemoryOptions::new().identity()].map(|options| {
        let memory = Memory::with(&options).unwrap();
        let from_file = |offset, bytes| {
            let sharing = warpjit_runtime::FileSharing::Private;
            memory
                .map_file(None, std::os::fd::AsFd::as_fd(&file), offset, bytes, Access::ReadOnly, sharing)
                .unwrap_err()
        };
        let shared = |bytes| memory.map_shared(None, bytes, Access::ReadWrite).unwrap_err();
        [shared(0), shared(1), from_file(1, PAGE), from_file(0, 0), from_file(0, 7)]
            .map(|error| error.to_string())
    });
    assert_eq!(errors[0], errors[1]);
    assert!(errors[0].iter().all(|text| !text.contains("os error")), "{:?}", errors[0]);
}
