//! What a person can ask of the window. Widgets read state and push these; only [`super::apply`] carries them out.

use std::collections::BTreeSet;
use std::path::PathBuf;

use crate::model::{
    BackendKind, ChannelId, CheckpointId, ClaimMode, JobConfig, Partitioning, Position,
    ScriptEntry, SubtaskId, Uid, Vertex,
};
use crate::run::RunAction;
use crate::run::xray::FileRef;

use super::run_from::RunFrom;
use super::theme::ThemeChoice;

#[derive(Clone, Debug, PartialEq)]
pub enum UiCommand {
    /// An empty job.
    New,
    /// Ask for a file with the system's dialog.
    OpenDialog,
    /// Ask for a file with a plain path field.
    OpenByPath,
    OpenFile(PathBuf),
    /// One of [`super::samples::all`].
    OpenSample(usize),
    /// To the file the job came from; asks where if there is none.
    Save,
    SaveAs,
    SaveByPath,
    SaveFile(PathBuf),
    Quit,
    /// The answer to "save the changes first?".
    Discard,

    Undo,
    Redo,
    AddVertex {
        kind: VertexKind,
        at: Option<Position>,
    },
    /// While dragging; all moves up to the next other edit are one undo step.
    MoveVertex {
        uid: Uid,
        to: Position,
    },
    Connect {
        from: Uid,
        to: Uid,
    },
    /// Replace operator `uid` (which may thereby get another uid).
    SetVertex {
        uid: Uid,
        vertex: Box<Vertex>,
    },
    SetPartitioning {
        edge: usize,
        partitioning: Partitioning,
    },
    SetConfig(Box<JobConfig>),
    SetJobText {
        name: String,
        note: String,
    },
    EditScript(ScriptEdit),
    /// Ask for the file of CSV source `0` with the system's dialog.
    ChooseCsv(Uid),
    SetCsvPath {
        uid: Uid,
        path: PathBuf,
    },
    Delete(Selection),
    DeleteSelected,

    /// A new run of the job on the canvas.
    StartRun,
    /// Ask from what savepoint or checkpoint a new run is to begin.
    RunFromDialog,
    /// Ask for its folder with the system's dialog.
    ChooseSnapshot,
    /// A new run of the job on the canvas, from the snapshot at this path.
    RunFrom {
        path: PathBuf,
        claim: ClaimMode,
        allow_non_restored_state: bool,
    },
    /// Back to editing; the run waits as it is.
    LeaveRun,
    /// Back to the run that waits.
    BackToRun,
    /// The present run once more, from its beginning.
    RunAgain,
    Act(RunAction),
    /// A dialog’s answer: close it, then act.
    CloseAndAct(RunAction),
    TogglePlay,
    /// Crash the selected subtask, or let the person point at one.
    ArmCrash,
    Crash(SubtaskId),
    /// While editing: for the next run. While running: ask how a new run begins.
    ChooseBackend(BackendKind),
    /// A new run on this backend, from the job's beginning or from a checkpoint of the present run.
    RestartOn {
        backend: BackendKind,
        from: Option<CheckpointId>,
    },

    Select(Selection),
    SetTheme(ThemeChoice),
    SetReducedMotion(bool),
    ShowTab(Tab),
    ToggleInspector,
    ToggleTimeline,
    Fit,
    ZoomBy(f32),
    Show(Dialog),
    /// Close whatever is open or armed: a dialog, the crosshair, the selection.
    Cancel,
}

/// What a person does to the job's script. Places are those before the edit.
#[derive(Clone, Debug, PartialEq)]
pub enum ScriptEdit {
    /// As the last one.
    Add(ScriptEntry),
    Set {
        index: usize,
        entry: Box<ScriptEntry>,
    },
    Move {
        from: usize,
        to: usize,
    },
    Delete(usize),
}

/// What the palette offers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VertexKind {
    Sequence,
    Csv,
    Map,
    KeyedSum,
    KeyedProcess,
    Window,
    RuleFilter,
    Sink,
}

impl VertexKind {
    pub const ALL: [Self; 8] = [
        Self::Sequence,
        Self::Csv,
        Self::Map,
        Self::KeyedSum,
        Self::KeyedProcess,
        Self::Window,
        Self::RuleFilter,
        Self::Sink,
    ];

    #[must_use]
    pub fn title(self) -> &'static str {
        match self {
            Self::Sequence => "Sequence",
            Self::Csv => "CSV file",
            Self::Map => "Map",
            Self::KeyedSum => "Keyed sum",
            Self::KeyedProcess => "Function",
            Self::Window => "Window",
            Self::RuleFilter => "Rule filter",
            Self::Sink => "Sink",
        }
    }

    /// What adding one is called, for screen readers.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Self::Sequence => "Add sequence source",
            Self::Csv => "Add CSV source",
            Self::Map => "Add map",
            Self::KeyedSum => "Add keyed sum",
            Self::KeyedProcess => "Add keyed function",
            Self::Window => "Add window",
            Self::RuleFilter => "Add rule filter",
            Self::Sink => "Add sink",
        }
    }

    #[must_use]
    pub fn hint(self) -> &'static str {
        match self {
            Self::Sequence => "source: 1, 2, 3 …",
            Self::Csv => "source: its rows",
            Self::Map => "one in, one out",
            Self::KeyedSum => "a sum per key",
            Self::KeyedProcess => "state of any kind",
            Self::Window => "per key and time",
            Self::RuleFilter => "broadcast state",
            Self::Sink => "collects results",
        }
    }
}

/// What the inspector shows and Delete deletes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Selection {
    #[default]
    None,
    Vertex(Uid),
    Edge(usize),
    Subtask(SubtaskId),
    Channel(ChannelId),
    Checkpoint(CheckpointId),
    /// A file of the checkpoint storage, or working state.
    File(FileRef),
}

/// The linked views below the canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Tab {
    #[default]
    Timeline,
    Checkpoints,
    Storage,
    Log,
}

impl Tab {
    pub const ALL: [Self; 4] = [Self::Timeline, Self::Checkpoints, Self::Storage, Self::Log];

    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Timeline => "Timeline",
            Self::Checkpoints => "Checkpoints",
            Self::Storage => "Storage",
            Self::Log => "Log",
        }
    }
}

/// What lies over the window and waits for an answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Dialog {
    /// Something went wrong: what, where, what to do.
    Message {
        title: String,
        text: String,
    },
    PathToOpen {
        path: String,
    },
    PathToSave {
        path: String,
    },
    /// Unsaved changes stand in the way of this.
    Unsaved {
        then: Box<UiCommand>,
    },
    /// How a new run begins.
    NewRun {
        backend: BackendKind,
    },
    /// From what a new run begins.
    RunFrom(RunFrom),
    /// Whether a file of the checkpoint storage, or a checkpoint's folder, is to be deleted, and what would break.
    DeleteStored {
        path: String,
        consequences: String,
    },
    /// Which subtasks fail in the same moment.
    CrashSeveral {
        chosen: BTreeSet<SubtaskId>,
    },
    Shortcuts,
    About,
}
