//! The talk with `bootstrap.sh`: a line at a time, and the program when it is asked for.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use brunt_proto::lines::next_line;
use brunt_proto::stdio::{START_LIMIT, skip_to_marker};
use tokio::io::{AsyncRead, AsyncWrite, AsyncWriteExt, BufReader};
use tokio::process::{ChildStderr, ChildStdin, ChildStdout};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use super::trouble::Stop;
use crate::launch::payload::Payload;

/// Bytes of the program that are sent at a time.
const CHUNK: usize = 64 << 10;
/// Bytes a second below which a copy is given up: what lies in buffers must have arrived before the answer.
const SLOWEST: u64 = 8 << 10;
/// Lines that are kept for a message.
const KEPT: usize = 40;
/// Characters that are kept of each.
const SHOWN: usize = 300;
/// Characters that are kept of an answer: five folders, each with its reason.
const ANSWER: usize = 2000;

/// How far a connection has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// No shell has answered yet.
    Login,
    /// The script runs.
    Script,
    /// The program is on its way.
    Copy,
    /// The script has become the agent, or what gives it privileges.
    Agent,
}

/// What has been heard so far.
#[derive(Debug)]
pub(super) struct Heard {
    /// How far it went.
    pub(super) phase: Phase,
    /// `uname -s -m`.
    pub(super) system: String,
    /// Lines that are no answers.
    pub(super) chatter: Vec<String>,
}

/// Standard input and output of an ssh.
pub(super) struct Talk {
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    marker: String,
    log: mpsc::Sender<String>,
    heard: Heard,
}

impl Talk {
    /// A talk whose answers carry `marker`; what is no answer goes to `log`.
    pub(super) fn new(input: ChildStdin, output: ChildStdout, marker: &str, log: mpsc::Sender<String>) -> Self {
        let heard = Heard { phase: Phase::Login, system: String::new(), chatter: Vec::new() };
        Self { input, output: BufReader::new(output), marker: marker.to_owned(), log, heard }
    }

    /// Sends the script and gives it what it asks for, until it becomes the agent.
    ///
    /// # Errors
    /// It does not come so far.
    pub(super) async fn boot(&mut self, script: &str, payload: &Payload) -> Result<(), Stop> {
        or_deaf(self.send(script.as_bytes()).await)?;
        let mut limit = START_LIMIT;
        loop {
            let answer = self.answer(limit).await?;
            limit = START_LIMIT;
            let (word, rest) = answer.split_once(' ').unwrap_or((&answer, ""));
            match word {
                "here" => {
                    self.heard.system = rest.to_owned();
                    self.heard.phase = Phase::Script;
                }
                "note" => self.tell(rest.to_owned()).await,
                "need" => limit += or_deaf(self.copy(rest, payload).await)?,
                "ready" => {
                    self.heard.phase = Phase::Agent;
                    return Ok(());
                }
                "fail" => {
                    let (word, text) = rest.split_once(' ').unwrap_or((rest, ""));
                    return Err(Stop::Failed { word: word.to_owned(), text: text.to_owned() });
                }
                _ => return Err(Stop::Garbled(answer)),
            }
        }
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// Nobody reads them, or not in time.
    pub(super) async fn send(&mut self, bytes: &[u8]) -> Result<(), Stop> {
        let sent = async {
            self.input.write_all(bytes).await?;
            self.input.flush().await
        };
        match timeout(START_LIMIT, sent).await {
            Ok(Ok(())) => Ok(()),
            Ok(Err(_)) => Err(Stop::Ended),
            Err(_) => Err(Stop::Silent(START_LIMIT)),
        }
    }

    /// Skips what comes before the stream of the agent.
    ///
    /// # Errors
    /// It does not come, or not in time.
    pub(super) async fn skip_to_stream(&mut self) -> Result<(), Stop> {
        match timeout(START_LIMIT, skip_to_marker(&mut self.output, &self.marker, &self.log)).await {
            Ok(Ok(true)) => Ok(()),
            Ok(_) => Err(Stop::Ended),
            Err(_) => Err(Stop::Silent(START_LIMIT)),
        }
    }

    /// The stream behind the agent's marker.
    pub(super) fn into_stream(self) -> impl AsyncRead + AsyncWrite + Send + Unpin + 'static {
        tokio::io::join(self.output, self.input)
    }

    /// What has been heard. Closes the streams.
    pub(super) fn into_heard(self) -> Heard {
        self.heard
    }

    /// The next answer without its head.
    async fn answer(&mut self, limit: Duration) -> Result<String, Stop> {
        let head = format!("BRUNT-BOOT {} ", self.marker);
        let next = async {
            while let Ok(Some(line)) = next_line(&mut self.output).await {
                // A prompt without a line end may stand before it.
                let (before, answer) = match line.split_once(&head) {
                    Some((before, answer)) => (before, Some(short(answer, ANSWER))),
                    None => (line.as_str(), None),
                };
                if answer.is_none() || !before.is_empty() {
                    if self.heard.chatter.len() < KEPT {
                        self.heard.chatter.push(short(before, SHOWN));
                    }
                    // Whoever started this is gone when nobody takes the line.
                    let _ = self.log.send(before.to_owned()).await;
                }
                if let Some(answer) = answer {
                    return Ok(answer);
                }
            }
            Err(Stop::Ended)
        };
        timeout(limit, next).await.unwrap_or(Err(Stop::Silent(limit)))
    }

    /// Sends the program as `need` asks for it: `bytes machine folder`. Gives the time by which the answer may be later.
    async fn copy(&mut self, asked: &str, payload: &Payload) -> Result<Duration, Stop> {
        let mut words = asked.splitn(3, ' ');
        let bytes = words.next().and_then(|word| word.parse().ok());
        let (machine, folder) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
        let Some(offer) = payload.offer(machine).filter(|offer| bytes == Some(offer.bytes)) else {
            return Err(Stop::Garbled(format!("need {asked}")));
        };
        self.heard.phase = Phase::Copy;
        self.tell(format!("brunt: copying {} ({} bytes) to {folder}", offer.path.display(), offer.bytes)).await;
        let mut buffer = vec![0; CHUNK];
        let mut sent = 0;
        while sent < offer.bytes {
            let count = usize::try_from(offer.bytes - sent).unwrap_or(CHUNK).min(CHUNK);
            let chunk = buffer.get_mut(..count).unwrap_or_default();
            offer.read(chunk, sent).map_err(|error| Stop::Program(offer.path.clone(), error.to_string()))?;
            self.send(chunk).await?;
            sent += count as u64;
        }
        Ok(Duration::from_secs(offer.bytes / SLOWEST))
    }

    async fn tell(&self, line: String) {
        // Whoever started this is gone when nobody takes the line.
        let _ = self.log.send(line).await;
    }
}

/// Who reads no more may have said why before: that is still to be heard.
fn or_deaf<T: Default>(sent: Result<T, Stop>) -> Result<T, Stop> {
    match sent {
        Err(Stop::Ended) => Ok(T::default()),
        sent => sent,
    }
}

/// Standard error of an ssh: a log, of which the end is kept.
pub(super) struct Errors {
    last: Arc<Mutex<VecDeque<String>>>,
    task: JoinHandle<()>,
}

impl Errors {
    /// Follows standard error to its end; `log` is let go then.
    pub(super) fn follow(errors: ChildStderr, log: mpsc::Sender<String>) -> Self {
        let last = Arc::new(Mutex::new(VecDeque::new()));
        let kept = Arc::clone(&last);
        let task = tokio::spawn(async move {
            let mut errors = BufReader::new(errors);
            while let Ok(Some(line)) = next_line(&mut errors).await {
                keep(&kept, short(&line, SHOWN));
                if log.send(line).await.is_err() {
                    break;
                }
            }
        });
        Self { last, task }
    }

    /// The last lines, when all have come or after `limit`.
    pub(super) async fn all(mut self, limit: Duration) -> Vec<String> {
        if timeout(limit, &mut self.task).await.is_err() {
            // A proxy of ssh may still hold it open.
            self.task.abort();
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        last.drain(..).collect()
    }
}

/// The beginning of a line, as much as a message may have.
fn short(line: &str, most: usize) -> String {
    match line.char_indices().nth(most) {
        Some((end, _)) => format!("{}…", line.get(..end).unwrap_or_default()),
        None => line.to_owned(),
    }
}

fn keep(last: &Mutex<VecDeque<String>>, line: String) {
    let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
    if last.len() == KEPT {
        last.pop_front();
    }
    last.push_back(line);
}
