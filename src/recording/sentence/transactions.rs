//! One sentence for each event of a transaction.

use super::{EventKind, Recording};
use crate::engine::event::TransactionEnd;

impl Recording {
    pub(super) fn describe_transaction(&self, event: &EventKind) -> String {
        match event {
            EventKind::TransactionBegun {
                subtask,
                transaction,
                ..
            } => format!("{} begins {transaction}.", self.name(*subtask)),
            EventKind::PreCommitted {
                subtask,
                transaction,
                checkpoint,
            } => format!(
                "{} pre-commits {transaction} for checkpoint {checkpoint}: nobody sees it yet.",
                self.name(*subtask)
            ),
            EventKind::Committed {
                subtask,
                transaction,
                again,
            } => {
                let effect = if *again {
                    "once more, which changes nothing"
                } else {
                    "and readers see it"
                };
                format!("{} commits {transaction}, {effect}.", self.name(*subtask))
            }
            EventKind::CommitFailed {
                subtask,
                transaction,
                reason,
            } => format!(
                "{} cannot commit {transaction}: {reason}.",
                self.name(*subtask)
            ),
            EventKind::TransactionAborted {
                subtask,
                transaction,
                why,
            } => {
                let name = self.name(*subtask);
                match why {
                    TransactionEnd::TaskClosed => {
                        format!("{name} aborts {transaction}, because it ends.")
                    }
                    TransactionEnd::RecoverAndAbort => format!(
                        "{name} aborts {transaction}, which was open in the restored checkpoint."
                    ),
                    TransactionEnd::Fenced => format!(
                        "The outside system aborts {transaction}: {name} begins its successor."
                    ),
                    TransactionEnd::TimedOut => format!(
                        "The outside system aborts {transaction} of {name}: its time is over."
                    ),
                }
            }
            _ => String::new(),
        }
    }
}
