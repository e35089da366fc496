/**
 * The thread that replays the journal for `resume`: an engine from a snapshot before the first
 * sequence that is wanted, fed by the journal, and a hub that makes the messages of the wanted
 * accounts. They are the messages that were sent, to the byte, because the same code makes them
 * from the same commands.
 */
import { parentPort, workerData } from 'node:worker_threads';
import type { Engine } from '../../../engine/engine.js';
import { JournalReader } from '../../../persistence/journal/reader.js';
import type { JournalSource } from '../../../persistence/journal/store.js';
import { JournalFollower } from '../../../persistence/recovery/recovery.js';
import { listSnapshots } from '../../../persistence/recovery/snapshot/folder.js';
import { loadNewestSnapshot } from '../../../persistence/recovery/snapshot/load.js';
import { type JournalPlace, openSource } from '../../../persistence/replication/source.js';
import { lowerPriority } from '../../../persistence/storage/thread-priority.js';
import { Hub } from '../hub.js';
import { STREAM_LIMITS } from '../limits.js';

/** An account whose messages after sequence `after` are wanted. */
export interface ReplayWish {
  userId: number;
  after: number;
}

export interface ReplayTask {
  /** The data folder, for its snapshots. */
  folder: string;
  journal: JournalPlace;
  wishes: ReplayWish[];
  /** The last sequence of the replay, which is durable. */
  through: number;
  /** The most commands that are executed. */
  commandsMax: number;
  /** Characters of the messages of one account. */
  charactersMax: number;
  /** Shared: 1 when the replay is to end early, without an answer. */
  stopped: Int32Array;
}

/**
 * For each wish, in order: the messages; or null, because there are too many commands or characters
 * after it, or because what it needs of the journal is in an archive.
 */
export type ReplayAnswer = (string[] | null)[];

const PRIORITY_STEPS = 10;
const LOG = { warn: () => {} };

/** The messages of one account. */
interface Collected extends ReplayWish {
  texts: string[] | null;
  characters: number;
}

async function replay(task: ReplayTask): Promise<ReplayAnswer> {
  const collected: Collected[] = task.wishes.map((wish) => ({ ...wish, texts: [], characters: 0 }));
  const reader = await openSource(task.journal);
  try {
    refuseFarWishes(task, reader, collected);
    const wanted = collected.filter(({ texts }) => texts !== null);
    if (wanted.length > 0) await collect(task, reader, wanted);
  } finally {
    await reader.close();
  }
  return collected.map(({ texts }) => texts);
}

/** A wish that lies too far back must not decide where the replay of the others starts. */
function refuseFarWishes(task: ReplayTask, reader: JournalSource, collected: Collected[]): void {
  const { folder, through, commandsMax } = task;
  const starts = listSnapshots(folder).map(({ sequence }) => sequence);
  // Segments before it are in an archive.
  const first = reader instanceof JournalReader ? reader.firstSequence : 1;
  for (const each of collected) {
    const start = starts.find((sequence) => sequence <= each.after) ?? 0;
    if (through - start > commandsMax || start + 1 < first) each.texts = null;
  }
}

async function collect(
  task: ReplayTask,
  reader: JournalSource,
  wanted: Collected[],
): Promise<void> {
  const { folder, through, commandsMax, stopped } = task;
  const notAfter = Math.min(...wanted.map(({ after }) => after));
  const start = await loadNewestSnapshot({ folder, reader, log: LOG, notAfter });
  const { engine, position } = start;
  // The snapshot that was expected cannot be used.
  if (through - position.sequence > commandsMax) {
    for (const each of wanted) each.texts = null;
    return;
  }
  const collector = new Collector(engine, wanted, task.charactersMax);
  collector.reached();
  const follower = new JournalFollower(engine, position, {
    applied: () => {
      collector.hub.observe();
      collector.reached();
    },
    proven: ({ lastSequence }) => lastSequence < through && Atomics.load(stopped, 0) === 0,
  });
  await follower.follow(reader);
}

class Collector {
  readonly hub: Hub;
  /** Those whose sequence the engine has not reached, the next one last. */
  private readonly waiting: Collected[];
  private readonly byTopic = new Map<string, Collected[]>();

  constructor(
    private readonly engine: Engine,
    collected: readonly Collected[],
    charactersMax: number,
  ) {
    this.waiting = [...collected].sort((a, b) => b.after - a.after);
    this.hub = new Hub({
      engine,
      releaseAt: (_sequence, target) => target.release(),
      publish: (topic, text) => {
        for (const each of this.byTopic.get(topic) ?? []) keep(each, text, charactersMax);
      },
      onTokensEnded: () => {},
      onTokenEnded: () => {},
      limits: { ...STREAM_LIMITS, keptMessages: 1 },
    });
  }

  /** Begins to collect for the accounts whose sequence the engine has reached. */
  reached(): void {
    const { waiting, engine, hub, byTopic } = this;
    while (waiting.length > 0 && waiting.at(-1)!.after <= engine.sequence) {
      const each = waiting.pop()!;
      const { topic } = hub.channel({ kind: 'user', of: each.userId });
      byTopic.set(topic, [...(byTopic.get(topic) ?? []), each]);
    }
  }
}

function keep(each: Collected, text: string, charactersMax: number): void {
  if (each.texts === null) return;
  each.characters += text.length;
  if (each.characters > charactersMax) each.texts = null;
  else each.texts.push(text);
}

lowerPriority(PRIORITY_STEPS);
parentPort!.postMessage(await replay(workerData as ReplayTask));
