//! The thread on which a run's engine lives, and what it shares with the window.
//!
//! Requests go in over a bounded channel; events come out through a mutex that either side holds only to move a
//! vector. The window never waits: where it cannot have the lock at once, it takes the events a frame later.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError, TryLockError};
use std::thread::JoinHandle;
use std::time::Duration;

use crossbeam_channel::{Receiver, Sender, bounded};

use super::RunError;
use super::home::Home;
use super::session::{Blueprint, Given, Session};
use super::xray::{FileRef, LookedInto, StorageLook};
use crate::engine::event::TraceEvent;
use crate::model::Command;
use crate::recording::concerns_barriers;

/// More requests than a window makes in a second are not kept.
const REQUESTS: usize = 64;
/// Events are handed over at least this often while the engine catches up.
const BATCH_EVENTS: usize = 4096;

/// One request lets at most so many things happen; whoever asked sees how far it came, and asks again. This bounds
/// the events that nobody has taken yet.
const MAX_ADVANCE_STEPS: usize = 100_000;
/// How far to look for the next barrier event.
const MAX_BARRIER_STEPS: usize = 50_000;
/// How long a waiting command line sleeps at most before it looks whether the thread is still there.
const PATIENCE: Duration = Duration::from_millis(100);

/// What the window asks of the engine.
pub enum Request {
    /// Let everything happen that is due until then, or much of it.
    Advance { until_us: u64 },
    /// Let the next thing happen, whenever it is due.
    Step,
    /// Let things happen until one concerns a barrier or a checkpoint.
    NextBarrierEvent,
    /// Obey a command at this time.
    Command { at_us: u64, command: Command },
    /// Begin again and go on after step `step`: another branch.
    Replay {
        given: Vec<Given>,
        step: u64,
        at_us: u64,
    },
    /// Read a file, or working state.
    LookInto(FileRef),
}

/// How far the engine is, and what has happened on the way.
#[derive(Clone, Default)]
pub struct Progress {
    /// Not yet taken over.
    pub events: Vec<TraceEvent>,
    /// How many requests are done.
    pub served: u64,
    /// The engine has lived through everything until then.
    pub reached_us: u64,
    /// When the next thing is due; none: nothing will ever happen by itself any more.
    pub next_at_us: Option<u64>,
    pub given: Vec<Given>,
    pub home: Option<Arc<Home>>,
    /// Looks at where the state lies, not yet taken over.
    pub looks: Vec<StorageLook>,
    /// How it is now.
    pub present: Option<StorageLook>,
    /// The last file that was looked into.
    pub looked_into: Option<Arc<LookedInto>>,
}

/// What the engine tells.
#[derive(Default)]
pub struct Shared {
    pub progress: Progress,
    /// How often the engine has begun again: progress of an earlier generation is about a branch that was left.
    generation: u64,
    /// The engine could not begin, or cannot go on.
    error: Option<RunError>,
}

/// What is new since the last look.
pub struct News {
    pub error: Option<RunError>,
    /// None: still about a branch that was left.
    pub progress: Option<Progress>,
}

impl News {
    /// Move the events out; the rest is copied.
    pub fn take(shared: &mut Shared, generation: u64) -> Self {
        let events = std::mem::take(&mut shared.progress.events);
        let looks = std::mem::take(&mut shared.progress.looks);
        let progress = (shared.generation == generation).then(|| Progress {
            events,
            looks,
            ..shared.progress.clone()
        });
        Self {
            error: shared.error.clone(),
            progress,
        }
    }
}

/// The shared state, and a bell for whoever waits for news.
#[derive(Default)]
struct Board {
    shared: Mutex<Shared>,
    news: Condvar,
    /// Nobody wants to know any more: end after the present step.
    is_abandoned: AtomicBool,
}

/// The window's end of the thread. Dropping it ends the thread, after the step (or the beginning again) it is in.
pub struct Worker {
    requests: Option<Sender<Request>>,
    pub sent: u64,
    shared: Arc<Board>,
    thread: Option<JoinHandle<()>>,
}

impl Worker {
    /// # Errors
    /// The operating system gives no thread.
    pub fn start(blueprint: Blueprint) -> Result<Self, RunError> {
        let (requests, inbox) = bounded(REQUESTS);
        let shared = Arc::new(Board::default());
        let theirs = shared.clone();
        let thread = std::thread::Builder::new()
            .name("lockgate-engine".to_owned())
            .spawn(move || live(blueprint, &inbox, &theirs))
            .map_err(|error| RunError(format!("The engine's thread could not start: {error}.")))?;
        Ok(Self {
            requests: Some(requests),
            sent: 0,
            shared,
            thread: Some(thread),
        })
    }

    /// Ask for something. False: too much is asked already; nothing was done.
    pub fn request(&mut self, request: Request) -> bool {
        let sent = self
            .requests
            .as_ref()
            .is_some_and(|sender| sender.try_send(request).is_ok());
        self.sent += u64::from(sent);
        sent
    }

    /// What the engine tells, if it is not busy telling more.
    pub fn try_read(&self) -> Option<MutexGuard<'_, Shared>> {
        match self.shared.shared.try_lock() {
            Ok(shared) => Some(shared),
            Err(TryLockError::Poisoned(poisoned)) => Some(poisoned.into_inner()),
            Err(TryLockError::WouldBlock) => None,
        }
    }

    /// The same, waiting for the lock: not for a window.
    pub fn read(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock()
    }

    /// Wait until every request is served, or something is wrong: not for a window.
    pub fn wait(&self) {
        let mut shared = self.shared.lock();
        let owes = |shared: &Shared| {
            let Progress { home, served, .. } = &shared.progress;
            shared.error.is_none() && (home.is_none() || *served < self.sent)
        };
        while owes(&shared) && self.is_alive() {
            let waited = self.shared.news.wait_timeout(shared, PATIENCE);
            shared = waited.unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.thread
            .as_ref()
            .is_some_and(|thread| !thread.is_finished())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.shared.is_abandoned.store(true, Ordering::Relaxed);
        self.requests = None;
        if let Some(thread) = self.thread.take() {
            // A thread that panicked has said so on stderr; there is nothing left to save.
            let _ = thread.join();
        }
    }
}

impl Board {
    fn lock(&self) -> MutexGuard<'_, Shared> {
        self.shared.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whether anybody still wants to know.
    fn is_wanted(&self) -> bool {
        !self.is_abandoned.load(Ordering::Relaxed)
    }

    fn fail(&self, error: RunError) {
        self.lock().error = Some(error);
        self.news.notify_all();
    }
}

/// The thread's life.
fn live(blueprint: Blueprint, inbox: &Receiver<Request>, board: &Board) {
    let mut session = match Session::open(blueprint) {
        Ok(session) => session,
        Err(error) => return board.fail(error),
    };
    session.look();
    hand_over(&mut session, board, Tidings::Part);
    while let Ok(request) = inbox.recv()
        && board.is_wanted()
    {
        // While time passes, what matters is looked at as it happens.
        let is_worth_a_look = !matches!(request, Request::Advance { .. });
        match request {
            Request::Advance { until_us } => advance(&mut session, until_us, board),
            // A step that nobody can see is none.
            Request::Step => while session.step() && session.log().is_empty() {},
            Request::NextBarrierEvent => seek_barrier_event(&mut session, board),
            Request::Command { at_us, command } => {
                advance(&mut session, at_us, board);
                session.command(command);
            }
            Request::Replay { given, step, at_us } => {
                match session.replay(&given, (step, at_us), || board.is_wanted()) {
                    Ok(replayed) => session = replayed,
                    Err(error) => return board.fail(error),
                }
                session.look();
                hand_over(&mut session, board, Tidings::OtherCourse);
                continue;
            }
            Request::LookInto(file) => {
                let looked = LookedInto {
                    contents: session.look_into(&file),
                    position: session.position(),
                    at_us: session.stepper().now_us(),
                    file,
                };
                board.lock().progress.looked_into = Some(Arc::new(looked));
            }
        }
        if is_worth_a_look {
            session.look();
        }
        hand_over(&mut session, board, Tidings::Answer);
    }
}

fn advance(session: &mut Session, until_us: u64, board: &Board) {
    for step in 1..=MAX_ADVANCE_STEPS {
        if !board.is_wanted() || !session.step_until(until_us) {
            return;
        }
        if step % BATCH_EVENTS == 0 {
            hand_over(session, board, Tidings::Part);
        }
    }
}

fn seek_barrier_event(session: &mut Session, board: &Board) {
    for _ in 0..MAX_BARRIER_STEPS {
        let found = session
            .log()
            .iter()
            .any(|event| concerns_barriers(&event.kind));
        if found || !board.is_wanted() || !session.step() {
            return;
        }
        if !session
            .log()
            .iter()
            .any(|event| concerns_barriers(&event.kind))
        {
            hand_over(session, board, Tidings::Part);
        }
    }
}

/// What the engine has to tell.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Tidings {
    /// What has happened so far.
    Part,
    /// A request is served.
    Answer,
    /// The request to begin again is served: what was not taken yet is about the branch that was left.
    OtherCourse,
}

/// All of it at once: nobody can see the new events with the old commands.
fn hand_over(session: &mut Session, board: &Board, tidings: Tidings) {
    // Reads folders and databases: once for each answer, not for each part of one.
    let present = (tidings != Tidings::Part).then(|| session.present_look());
    let events = session.take_log();
    let next_at_us = session.stepper().next_at_us();
    let mut shared = board.lock();
    shared.generation += u64::from(tidings == Tidings::OtherCourse);
    let progress = &mut shared.progress;
    if tidings == Tidings::OtherCourse {
        progress.events.clear();
        progress.looks.clear();
        progress.looked_into = None;
    }
    progress.events.extend(events);
    progress.looks.extend(session.take_looks());
    if let Some(present) = present {
        progress.present = present;
    }
    progress.served += u64::from(tidings != Tidings::Part);
    progress.reached_us = session.stepper().now_us();
    progress.next_at_us = next_at_us;
    if progress.given != session.given() {
        progress.given = session.given().to_vec();
    }
    progress.home = Some(session.home().clone());
    drop(shared);
    board.news.notify_all();
}
