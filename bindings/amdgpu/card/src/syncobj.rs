//! Synchronisation objects: binary ones and timelines.

use crate::fence::{Bell, Fence, lock};
use crate::uapi::{User, put_u32, u32_at, u32s, u64_at, u64s};
use rustix::io::Errno;
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

const WAIT_ALL: u32 = 1;
const WAIT_FOR_SUBMIT: u32 = 2;
const WAIT_AVAILABLE: u32 = 4;
const CREATE_SIGNALED: u32 = 1;
const LAST_SUBMITTED: u32 = 1;

/// One object.
#[derive(Debug, Default)]
pub(crate) struct Syncobj(Mutex<Points>);

#[derive(Debug, Default)]
struct Points {
    /// The fence, if it is used as a binary object.
    binary: Option<Fence>,
    /// Points of a timeline that are still to come, in order.
    ahead: Vec<(u64, Fence)>,
    /// The last point that is reached, if it is used as a timeline.
    reached: Option<u64>,
}

impl Points {
    /// Takes note of the points that have been reached: a point is reached after all points before it.
    fn advance(&mut self) {
        let done = self.ahead.iter().take_while(|(_, fence)| fence.is_signalled()).count();
        for (point, _) in self.ahead.drain(..done) {
            self.reached = Some(self.reached.unwrap_or(0).max(point));
        }
    }

    /// What must have happened for a point (0: the latest there is). `None`: nobody has submitted it.
    fn find(&mut self, point: u64) -> Option<Vec<Fence>> {
        self.advance();
        if let Some(fence) = &self.binary {
            return (point == 0).then(|| vec![fence.clone()]);
        }
        if point == 0 {
            self.reached.or(self.ahead.first().map(|(first, _)| *first))?;
            return Some(self.ahead.iter().map(|(_, fence)| fence.clone()).collect());
        }
        if self.reached.is_some_and(|reached| reached >= point) {
            return Some(Vec::new());
        }
        let last = self.ahead.iter().position(|(at, _)| *at >= point)?;
        Some(self.ahead[..=last].iter().map(|(_, fence)| fence.clone()).collect())
    }
}

impl Syncobj {
    /// What must have happened for a point (0: the latest). `None`: nobody has submitted it yet.
    pub fn find(&self, point: u64) -> Option<Vec<Fence>> {
        lock(&self.0).find(point)
    }

    /// Will be signalled with a fence: at a point of a timeline, or (0) as a binary object.
    pub fn attach(&self, point: u64, fence: Fence) {
        let mut points = lock(&self.0);
        if point == 0 {
            *points = Points { binary: Some(fence), ..Points::default() };
        } else {
            points.binary = None;
            points.ahead.push((point, fence));
            points.advance();
        }
    }

    fn reset(&self) {
        *lock(&self.0) = Points::default();
    }

    /// The last point reached, or submitted.
    fn value(&self, submitted: bool) -> u64 {
        let mut points = lock(&self.0);
        points.advance();
        let last = points.ahead.last().map(|(point, _)| *point).filter(|_| submitted);
        last.or(points.reached).unwrap_or(0)
    }
}

/// The objects of a file by their handles.
#[derive(Debug, Default)]
pub(crate) struct Syncobjs {
    all: Mutex<BTreeMap<u32, Arc<Syncobj>>>,
}

impl Syncobjs {
    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        lock(&self.all).is_empty()
    }

    /// By handle.
    pub fn get(&self, handle: u32) -> Result<Arc<Syncobj>, Errno> {
        lock(&self.all).get(&handle).cloned().ok_or(Errno::NOENT)
    }

    fn each(&self, user: &dyn User, address: u64, count: u32) -> Result<Vec<Arc<Syncobj>>, Errno> {
        if count == 0 {
            return Err(Errno::INVAL);
        }
        u32s(user, address, count)?.into_iter().map(|handle| self.get(handle)).collect()
    }

    /// A new object with the fence; its handle.
    pub fn add(&self, fence: Option<Fence>) -> u32 {
        let mut all = lock(&self.all);
        let handle = (1..).find(|handle| !all.contains_key(handle)).unwrap_or(0);
        let object = Syncobj::default();
        if let Some(fence) = fence {
            object.attach(0, fence);
        }
        all.insert(handle, Arc::new(object));
        handle
    }

    /// SYNCOBJ_CREATE.
    pub fn create(&self, arg: &mut [u8]) -> Result<(), Errno> {
        let flags = u32_at(arg, 4);
        if flags & !CREATE_SIGNALED != 0 {
            return Err(Errno::INVAL);
        }
        put_u32(arg, 0, self.add((flags != 0).then(Fence::signalled)));
        Ok(())
    }

    /// SYNCOBJ_DESTROY.
    pub fn destroy(&self, arg: &[u8]) -> Result<(), Errno> {
        if u32_at(arg, 4) != 0 {
            return Err(Errno::INVAL);
        }
        lock(&self.all).remove(&u32_at(arg, 0)).map(|_| ()).ok_or(Errno::INVAL)
    }

    /// SYNCOBJ_RESET and SYNCOBJ_SIGNAL.
    pub fn set(&self, arg: &[u8], user: &dyn User, bell: &Bell, signal: bool) -> Result<(), Errno> {
        if u32_at(arg, 12) != 0 {
            return Err(Errno::INVAL);
        }
        for object in self.each(user, u64_at(arg, 0), u32_at(arg, 8))? {
            if signal { object.attach(0, Fence::signalled()) } else { object.reset() }
        }
        bell.ring();
        Ok(())
    }

    /// SYNCOBJ_TIMELINE_SIGNAL.
    pub fn signal_points(&self, arg: &[u8], user: &dyn User, bell: &Bell) -> Result<(), Errno> {
        if u32_at(arg, 20) != 0 {
            return Err(Errno::INVAL);
        }
        let objects = self.each(user, u64_at(arg, 0), u32_at(arg, 16))?;
        let points = match u64_at(arg, 8) {
            0 => vec![0; objects.len()],
            address => u64s(user, address, objects.len() as u32)?,
        };
        for (object, point) in objects.iter().zip(points) {
            object.attach(point, Fence::signalled());
        }
        bell.ring();
        Ok(())
    }

    /// SYNCOBJ_QUERY.
    pub fn query(&self, arg: &[u8], user: &dyn User) -> Result<(), Errno> {
        let flags = u32_at(arg, 20);
        if flags & !LAST_SUBMITTED != 0 {
            return Err(Errno::INVAL);
        }
        let objects = self.each(user, u64_at(arg, 0), u32_at(arg, 16))?;
        let values: Vec<u8> =
            objects.iter().flat_map(|object| object.value(flags != 0).to_le_bytes()).collect();
        user.write(u64_at(arg, 8), &values)
    }

    /// SYNCOBJ_TRANSFER.
    pub fn transfer(&self, arg: &[u8], bell: &Bell) -> Result<(), Errno> {
        let (from, to) = (self.get(u32_at(arg, 0))?, self.get(u32_at(arg, 4))?);
        let (from_point, to_point, flags) = (u64_at(arg, 8), u64_at(arg, 16), u32_at(arg, 24));
        if u32_at(arg, 28) != 0 {
            return Err(Errno::INVAL);
        }
        let found = match from.find(from_point) {
            Some(found) => found,
            // As long as the kernel waits for it.
            None if flags & WAIT_FOR_SUBMIT != 0 => {
                let until = crate::fence::nanoseconds() + 5_000_000_000;
                bell.wait(until, || from.find(from_point)).ok_or(Errno::TIME)?
            }
            None => return Err(Errno::INVAL),
        };
        // A point needs all fences before it; one that is attached last is signalled last where fences of one queue are in order.
        let pending: Vec<Fence> = found.into_iter().filter(|fence| !fence.is_signalled()).collect();
        to.attach(to_point, pending.last().cloned().unwrap_or_else(Fence::signalled));
        bell.ring();
        Ok(())
    }

    /// SYNCOBJ_WAIT and SYNCOBJ_TIMELINE_WAIT.
    pub fn wait(&self, arg: &mut [u8], user: &dyn User, bell: &Bell, timeline: bool) -> Result<(), Errno> {
        let base = if timeline { 8 } else { 0 };
        let (timeout, count) = (u64_at(arg, base + 8) as i64, u32_at(arg, base + 16));
        let flags = u32_at(arg, base + 20);
        let known = WAIT_ALL | WAIT_FOR_SUBMIT | if timeline { WAIT_AVAILABLE } else { 0 };
        if flags & !known != 0 || count == 0 {
            return Err(Errno::INVAL);
        }
        let objects = self.each(user, u64_at(arg, 0), count)?;
        let points = match (timeline, u64_at(arg, 8)) {
            (false, _) | (true, 0) => vec![0; objects.len()],
            (true, address) => u64s(user, address, count)?,
        };
        let (all, available) = (flags & WAIT_ALL != 0, flags & WAIT_AVAILABLE != 0);
        let may_come = flags & (WAIT_FOR_SUBMIT | WAIT_AVAILABLE) != 0;
        let first = bell.wait(crate::fence::until(timeout), || {
            let mut first = None;
            let mut ready = 0;
            for (index, (object, point)) in objects.iter().zip(&points).enumerate() {
                let is_ready = match object.find(*point) {
                    Some(fences) => available || fences.iter().all(Fence::is_signalled),
                    None if may_come => false,
                    None => return Some(Err(Errno::INVAL)),
                };
                if is_ready {
                    first.get_or_insert(index);
                    ready += 1;
                }
            }
            let done = if all { ready == objects.len() } else { ready > 0 };
            done.then_some(Ok(first.unwrap_or(0)))
        });
        let first = first.ok_or(Errno::TIME)??;
        put_u32(arg, base + 24, first as u32);
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timelines() {
        let timeline = Syncobj::default();
        assert!(timeline.find(1).is_none());
        let (one, two) = (Fence::default(), Fence::default());
        timeline.attach(1, one.clone());
        timeline.attach(3, two.clone());
        assert_eq!(timeline.find(2).map(|fences| fences.len()), Some(2));
        assert!(timeline.find(4).is_none());
        // The second is done before the first: no point is reached yet.
        two.signal();
        assert_eq!((timeline.value(false), timeline.value(true)), (0, 3));
        one.signal();
        assert_eq!(timeline.value(false), 3);
        assert_eq!(timeline.find(2).map(|fences| fences.len()), Some(0));
        timeline.reset();
        assert!(timeline.find(0).is_none());
    }
}
