//! Tests of the choice of a strategy: what is found for blocks whose times are known.

use super::*;

const MILLI: Duration = Duration::from_millis(1);

fn took(choice: &Choice, strategy: Strategy, blocks: u64, time: Duration) {
    choice.took(strategy, blocks, time, Duration::ZERO);
}

/// A choice whose warm-up is over.
fn measuring() -> Choice {
    let choice = Choice::new(2 * MILLI, None);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, true));
    took(&choice, Strategy::Vectors, 1, 3 * MILLI);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, true));
    choice
}

/// Measures to the end; `time`: of a block. Gives the strategies in order.
fn measure(choice: &Choice, time: impl Fn(Strategy) -> Duration) -> Vec<Strategy> {
    let mut order = Vec::new();
    while choice.is_measuring() {
        let now = choice.strategy();
        if order.last() != Some(&now) {
            order.push(now);
        }
        took(choice, now, 2, time(now) * 2);
    }
    order
}

/// Runs to the next measurement; gives the blocks until then.
fn pause(choice: &Choice) -> u64 {
    assert!(!choice.is_measuring());
    let mut blocks = 0;
    while !choice.is_measuring() {
        choice.ran(1);
        blocks += 1;
    }
    blocks
}

/// Times of a block with vectors, lanes, and what takes part later.
fn times(vectors: u32, lanes: u32, late: u32) -> impl Fn(Strategy) -> Duration {
    move |strategy| match strategy {
        Strategy::Vectors => vectors * MILLI,
        Strategy::Lanes => lanes * MILLI,
        Strategy::Warps | Strategy::Narrow => late * MILLI,
    }
}

#[test]
fn the_quicker_strategy_goes_on() {
    for (vectors, lanes, wanted) in [
        (4, 1, Strategy::Lanes),
        (1, 4, Strategy::Vectors),
        (100, 97, Strategy::Vectors),
        (100, 90, Strategy::Lanes),
    ] {
        let choice = measuring();
        measure(&choice, times(vectors, lanes, 1));
        assert_eq!((choice.strategy(), choice.is_measuring()), (wanted, false), "{vectors} and {lanes}");
    }
}

#[test]
fn strategies_are_timed_in_turn_until_the_rounds_agree() {
    let choice = measuring();
    let order = measure(&choice, times(3, 2, 1));
    assert_eq!(order, [Strategy::Vectors, Strategy::Lanes].repeat(FEWEST_ROUNDS));

    // Blocks differ: in every other round lanes take four times as long as before.
    let choice = measuring();
    let mut rounds = 0;
    while choice.is_measuring() {
        took(&choice, Strategy::Vectors, 2, 3 * MILLI);
        // Another thread's block of before.
        took(&choice, Strategy::Vectors, 1, 1000 * MILLI);
        took(&choice, Strategy::Lanes, 2, if rounds % 2 == 0 { 4 } else { 1 } * MILLI);
        rounds += 1;
    }
    assert_eq!((choice.strategy(), rounds), (Strategy::Lanes, ROUNDS));
}

#[test]
fn what_takes_twice_as_long_is_left_out_for_a_while() {
    let choice = measuring();
    let mut orders = Vec::new();
    for _ in 0..6 {
        orders.push(measure(&choice, |strategy| match strategy {
            Strategy::Vectors => 2 * MILLI,
            Strategy::Lanes => 5 * MILLI,
            Strategy::Warps | Strategy::Narrow => 3 * MILLI,
        }));
        pause(&choice);
    }
    let with_lanes: Vec<bool> = orders.iter().map(|order| order.contains(&Strategy::Lanes)).collect();
    assert_eq!(with_lanes, [true, false, false, false, true, false]);
    // One round shows it.
    assert_eq!(orders[0], [Strategy::Vectors, Strategy::Lanes]);
    let others = [Strategy::Vectors, Strategy::Warps, Strategy::Narrow];
    assert_eq!(orders[1], others.repeat(FEWEST_ROUNDS));
}

#[test]
fn what_an_earlier_process_has_found_is_where_it_begins() {
    assert_eq!(measuring().found(), None);
    for known in Strategy::ALL {
        assert_eq!(Strategy::of_stored(known.stored()), Some(known));
        let choice = Choice::new(2 * MILLI, Some(known));
        assert_eq!((choice.strategy(), choice.is_measuring()), (known, false));
        assert_eq!(choice.found(), Some(known));
        choice.ran(KNOWN_PAUSE - 1);
        assert_eq!((choice.strategy(), choice.is_measuring()), (known, false));
        choice.ran(1);
        // Each strategy is measured, and another one may be chosen.
        let best = if known == Strategy::Lanes { Strategy::Vectors } else { Strategy::Lanes };
        let of = |strategy: Strategy| if strategy == best { MILLI } else { 3 * MILLI };
        measure(&choice, of);
        // Once is not enough to be told to others.
        assert_eq!((choice.strategy(), choice.found()), (best, (best == known).then_some(best)));
        pause(&choice);
        measure(&choice, of);
        assert_eq!((choice.strategy(), choice.found()), (best, Some(best)));
    }
    for number in [0, 5, 255] {
        assert_eq!(Strategy::of_stored(number), None);
    }
}

#[test]
fn a_known_strategy_without_code_is_given_up() {
    let choice = Choice::new(2 * MILLI, Some(Strategy::Lanes));
    choice.give_up(Strategy::Lanes);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
    // Nor is it written to the cache again.
    assert_eq!(choice.found(), Some(Strategy::Vectors));
}

#[test]
fn it_is_measured_again_and_less_often() {
    let choice = measuring();
    let mut pauses = Vec::new();
    for late in [None, Some([Strategy::Warps, Strategy::Narrow]), None, None] {
        let mut blocks = 0;
        if let Some(late) = late {
            took(&choice, Strategy::Vectors, 2, 4 * MILLI);
            took(&choice, Strategy::Lanes, 2, 6 * MILLI);
            late.iter().for_each(|&strategy| choice.give_up(strategy));
            blocks += 4;
        }
        blocks += measure(&choice, times(2, 3, 9)).len() as u64 * 2;
        assert_eq!(blocks, 12);
        pauses.push(pause(&choice) / blocks);
    }
    assert_eq!(pauses, [PAUSE_BEFORE_LATE, 64, 128, 256]);
    // The data has changed.
    measure(&choice, times(3, 2, 9));
    assert_eq!(choice.strategy(), Strategy::Lanes);
}

#[test]
fn a_hopeless_strategy_ends_early_and_one_without_code_is_never_tried() {
    let choice = measuring();
    took(&choice, Strategy::Vectors, 100, 2 * MILLI);
    // Not even one block has ended.
    took(&choice, Strategy::Lanes, 0, 6 * MILLI);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
    let choice = measuring();
    took(&choice, Strategy::Vectors, 100, 2 * MILLI);
    choice.give_up(Strategy::Lanes);
    choice.give_up(Strategy::Warps);
    choice.give_up(Strategy::Narrow);
    choice.ran(u64::MAX);
    took(&choice, Strategy::Vectors, 100, 2 * MILLI);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
}

#[test]
fn whole_warps_and_narrow_vectors_take_part_later() {
    for (late, gone) in [(Strategy::Warps, Strategy::Narrow), (Strategy::Narrow, Strategy::Warps)] {
        for (lanes, time, wanted) in [(2, 3, Strategy::Lanes), (5, 3, late), (9, 8, Strategy::Vectors)] {
            let choice = measuring();
            choice.give_up(gone);
            assert!(!measure(&choice, times(5, lanes, time)).contains(&late));
            pause(&choice);
            assert!(measure(&choice, times(5, lanes, time)).contains(&late));
            assert_eq!((choice.strategy(), choice.is_measuring()), (wanted, false), "{lanes} and {time}");
        }
    }
}

#[test]
fn they_wait_until_compiling_them_is_worth_it() {
    let choice = measuring();
    let compiling = 100 * MILLI;
    while choice.is_measuring() {
        choice.took(choice.strategy(), 2, 2 * MILLI, compiling);
    }
    // Blocks of a millisecond.
    assert_eq!(pause(&choice), u64::from(COMPILE_TIMES) * 100);
}

#[test]
fn a_strategy_settles_once_and_not_if_it_is_hopeless() {
    let choice = measuring();
    choice.give_up(Strategy::Narrow);
    measure(&choice, times(2, 3, 9));
    pause(&choice);
    took(&choice, Strategy::Vectors, 2, 4 * MILLI);
    took(&choice, Strategy::Lanes, 2, 6 * MILLI);
    // Four times as long as vectors: so it ends before it has settled, and is not tried in the other rounds.
    took(&choice, Strategy::Warps, 2, 16 * MILLI);
    let order = measure(&choice, times(2, 3, 9));
    assert_eq!(order, [Strategy::Vectors, Strategy::Lanes].repeat(2));

    for _ in 0..LEFT_OUT {
        pause(&choice);
        assert!(!measure(&choice, times(2, 3, 1)).contains(&Strategy::Warps));
    }
    pause(&choice);
    took(&choice, Strategy::Vectors, 2, 4 * MILLI);
    took(&choice, Strategy::Lanes, 2, 6 * MILLI);
    // What it takes while it settles does not count.
    took(&choice, Strategy::Warps, 2, 4 * MILLI);
    took(&choice, Strategy::Warps, 3, 6 * MILLI);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Warps, true));
    took(&choice, Strategy::Warps, 2, 2 * MILLI);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, true));
    assert_eq!(measure(&choice, times(2, 3, 1)).len(), 6);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Warps, false));
}

#[test]
fn a_long_block_is_not_hopeless_before_it_takes_too_long() {
    let choice = measuring();
    took(&choice, Strategy::Vectors, 1, 40 * MILLI);
    for _ in 0..2 {
        took(&choice, Strategy::Lanes, 0, 6 * MILLI);
        assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Lanes, true));
    }
    took(&choice, Strategy::Lanes, 1, 9 * MILLI);
    // One round is enough.
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Lanes, false));
}

#[test]
fn a_strategy_that_loses_its_code_is_left() {
    let choice = measuring();
    measure(&choice, times(5, 1, 9));
    assert_eq!(choice.strategy(), Strategy::Lanes);
    choice.give_up(Strategy::Lanes);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Vectors, false));
    choice.ran(u64::MAX - 1);
    took(&choice, Strategy::Vectors, 4, 20 * MILLI);
    assert_eq!((choice.strategy(), choice.is_measuring()), (Strategy::Warps, true));
}
