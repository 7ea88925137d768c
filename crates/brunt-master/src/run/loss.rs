//! Workers that are lost in a run: it ends with what was measured, or goes on with the rest.

use brunt_event::RunEnd;

use crate::link::HostLink;
use crate::run::Run;

impl<L: HostLink> Run<'_, '_, L> {
    /// A worker is lost, for a reason in a sentence.
    pub(super) async fn lose(&mut self, worker: usize, text: &str) {
        let had_work = self.merger.unfinished().any(|w| w == worker);
        if !had_work {
            return self.session.lose(worker, text);
        }
        let text = format!("{text} (rd={}, in interval {})", self.name, self.merger.reported(worker) + 1);
        self.session.lose(worker, &text);
        let goes_on = self.session.rules.goes_on_without_lost && self.living().next().is_some();
        if goes_on {
            self.say_missing(worker);
        }
        self.merger.finish(worker);
        if let Some(state) = self.workers.get_mut(worker) {
            state.cut_off = true;
        }
        if let Some(watch) = &mut self.idle {
            watch.forget_worker(worker as u32);
        }
        // What the others have complete by now still counts.
        self.advance().await;
        if goes_on {
            return self.go_on_without(worker).await;
        }
        let halt = self.session.worker_lost(worker);
        self.cut(RunEnd::WorkerLost, halt).await;
    }

    /// Workers with work in this run that are not lost.
    fn living(&self) -> impl Iterator<Item = usize> + '_ {
        let active = self.merger.shape().active.iter().enumerate();
        active.filter(|(w, active)| **active && !self.session.lost[*w]).map(|(w, _)| w)
    }

    /// Says for how many the rows stand from here on.
    fn say_missing(&mut self, worker: usize) {
        let with_work = self.merger.shape().active.iter().filter(|active| **active).count() + self.absent as usize;
        let (rd, from, living) = (&self.name, self.merger.completed() + 1, self.living().count());
        let mut text = format!(
            "on_worker_loss=continue: from interval {from} on the rows of rd={rd} stand for {living} of {with_work} workers"
        );
        if self.workers.get(worker).is_some_and(|state| state.sequential) {
            let label = self.session.layout.label(worker);
            text += &format!("; what {label} had still to do in sequence is not done by others");
        }
        self.session.notice(true, "workers-missing", text);
    }

    async fn go_on_without(&mut self, worker: usize) {
        self.session.went_on = true;
        // What was asked of all cannot be judged by what the others did.
        self.findings.lacks_some();
        if let Some(state) = self.workers.get_mut(worker) {
            state.end_of_data = None;
        }
        if self.workers.iter().any(|w| w.end_of_data.is_some()) {
            self.check_end_of_data().await;
        }
    }
}
