/**
 * `resume` of the channel `user` from further back than memory: the messages come from the journal
 * and are sent in pages, the next when the client has read most of the one before. Then the channel
 * goes on as after any other `resume`.
 *
 * Always holds: the messages are those that were sent, or would have been, in order and without a
 * gap; if that cannot be, the client gets a `gap` and a snapshot, or an error that says what to
 * read instead.
 */
import { errorAnswer, UNAVAILABLE } from '../../http/errors.js';
import type { Gateway } from '../../http/gateway.js';
import { errorText, replayedText, resumeText } from '../channels/message-text.js';
import type { Connection, Subscription } from '../connection.js';
import type { Hub } from '../hub.js';
import type { StreamLimits } from '../limits.js';
import { JournalReplays, type NotReplayed, type Replayed } from './journal-replays.js';

const PAGE_CHARACTERS = 512 * 1024;
/** The next page is sent when less than this is unread. */
const UNREAD_BYTES = 256 * 1024;
const PAUSE_MS = 5;

const ERRORS = {
  tooFar: errorAnswer(
    'limit_reached',
    { channel: 'user' },
    'Too much has happened since then to be sent again. Subscribe to "user" for the account as it is now, and read what happened at GET /users/:id/trades, /users/:id/orders and /users/:id/points.',
  ),
  failed: UNAVAILABLE,
};

interface ResumeRequest {
  id: string | undefined;
  after: number;
}

interface Options {
  gateway: Gateway;
  hub: Hub;
  limits: StreamLimits;
}

export class UserResumes {
  private readonly replays: JournalReplays;

  constructor(private readonly options: Options) {
    const { config, journal, sequencer, log } = options.gateway;
    this.replays = new JournalReplays({
      folder: config.dataFolder,
      journal,
      durableSequence: () => sequencer.durableSequence,
      commandsMax: options.limits.replayedCommands,
      charactersMax: options.limits.replayedCharacters,
      log,
    });
  }

  stop(): Promise<void> {
    return this.replays.stop();
  }

  /** `subscription`: to `user`, and not in use until it is started here. */
  begin(connection: Connection, subscription: Subscription, request: ResumeRequest): void {
    subscription.isResuming = true;
    const { userId } = connection;
    const { after } = request;
    // Everything up to now must be in the journal; what comes later, the channel keeps.
    this.whenDurable(() => {
      connection.pause(subscription);
      this.replays.read({ userId, after }, (replayed) =>
        this.finish(connection, subscription, request, replayed),
      );
    });
  }

  private finish(
    connection: Connection,
    subscription: Subscription,
    request: ResumeRequest,
    replayed: Replayed | NotReplayed,
  ): void {
    if (this.replays.isStopped) return;
    if (typeof replayed === 'string') {
      this.whenDurable(() => {
        if (!connection.prepare(subscription, [])) return;
        connection.drop(subscription);
        connection.send(errorText(ERRORS[replayed], { id: request.id, channel: 'user' }));
      });
      return;
    }
    const { hub } = this.options;
    const { channel } = subscription;
    const head = resumeText('resumed', channel, request.after, hub.stamp, request.id);
    const pages = pagesOf([head, ...replayed.texts]);
    const go = () => {
      const page = pages.shift();
      if (this.replays.isStopped || !connection.prepare(subscription, page ?? [])) return;
      if (page === undefined) this.start(connection, subscription, replayed.through, request);
      else this.whenRead(connection, go);
    };
    this.whenDurable(go);
  }

  /** The messages since the replay, which the channel has kept; then new ones. */
  private start(
    connection: Connection,
    subscription: Subscription,
    through: number,
    request: ResumeRequest,
  ): void {
    const { stamp } = this.options.hub;
    const { channel } = subscription;
    const { id } = request;
    const since = channel.since(through, stamp.sequence);
    const texts =
      since === null
        ? [resumeText('gap', channel, through, stamp, id), channel.snapshot(stamp, id)]
        : [replayedText(channel.name, through, stamp, id), ...since];
    this.whenDurable(() => {
      subscription.isResuming = false;
      connection.start(subscription, texts);
    });
  }

  private whenRead(connection: Connection, go: () => void): void {
    if (connection.backlogBytes < UNREAD_BYTES) setImmediate(go);
    else setTimeout(() => this.whenRead(connection, go), PAUSE_MS);
  }

  private whenDurable(release: () => void): void {
    const { sequencer } = this.options.gateway;
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }
}

function pagesOf(texts: readonly string[]): string[][] {
  const pages: string[][] = [[]];
  let characters = 0;
  for (const text of texts) {
    if (characters > PAGE_CHARACTERS) {
      pages.push([]);
      characters = 0;
    }
    pages.at(-1)!.push(text);
    characters += text.length;
  }
  return pages;
}
