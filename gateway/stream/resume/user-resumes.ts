/**
 * `resume` of the channel `user` beyond what memory keeps: messages from the journal, one window at
 * a time, sent in pages. The next page follows when the client has read most of the previous one.
 *
 * Invariants:
 * - The messages are those originally sent (or that would have been sent), in order and without
 *   gaps. If they are unavailable, the client gets a `gap` and a snapshot.
 * - One turn of the event loop sends one page, which user and address have paid for in reads.
 * - A user's resumes use bounded memory in this thread. A client that reads no pages is closed.
 */
import { Bill } from '../../access/fair-use/fair-use.js';
import { errorAnswer } from '../../commands/errors.js';
import type { Gateway } from '../../http/gateway.js';
import { errorText, replayedText, resumeText } from '../channels/message-text.js';
import type { Connection, Subscription } from '../connection.js';
import type { Hub } from '../hub.js';
import { CLOSE, PAGE_BYTES, type StreamLimits } from '../limits.js';
import { JournalReplays, type NotReplayed, type Share } from './journal-replays.js';

export const READS_PER_REPLAY = 100;
const READS_PER_PAGE = 25;
/** How long a client may leave the pages of one window unread. */
const UNREAD_MS = 30_000;
const NOT_NOW = errorAnswer('unavailable', { executed: false, retryAfterMs: 2_000 });

interface Resume {
  readonly connection: Connection;
  readonly subscription: Subscription;
  readonly id: string | undefined;
  /** All messages up to this number were sent. */
  after: number;
  /** The number of the client's last message. */
  place: number;
  sentBytes: number;
  share: Share | null;
  /** Index of the window's next message. */
  next: number;
  leftMs: number;
}

interface Options {
  gateway: Gateway;
  hub: Hub;
  limits: StreamLimits;
  elapsedMs: () => number;
}

export class UserResumes {
  readonly replays: JournalReplays;
  private readonly ready = new Set<Resume>();

  constructor(private readonly options: Options) {
    const { gateway, limits, elapsedMs } = options;
    const { config, journal, sequencer, log } = gateway;
    this.replays = new JournalReplays({
      folder: config.dataFolder,
      journal,
      durableSequence: () => sequencer.durableSequence,
      commandsMax: limits.replayedCommands,
      windowBytes: limits.replayWindowBytes,
      log,
      elapsedMs,
    });
  }

  stop(): Promise<void> {
    return this.replays.stop();
  }

  /** `subscription` is to `user` and must not be live, because this class starts it. */
  begin(
    connection: Connection,
    subscription: Subscription,
    { id, after }: { id: string | undefined; after: number },
  ): void {
    const { channel } = subscription;
    subscription.isResuming = true;
    connection.resumedTo = after;
    const head = resumeText('resumed', channel, after, this.options.hub.stamp, id);
    const none = { sentBytes: 0, share: null, next: 0, leftMs: 0 };
    const resume = { connection, subscription, id, after, place: after, ...none };
    // Make everything up to now durable in the journal. The channel keeps everything later.
    this.whenDurable(() => {
      connection.pause(subscription);
      if (connection.prepare(subscription, [head])) this.ask(resume);
    });
  }

  private ask(resume: Resume): void {
    const { connection, after, place } = resume;
    const { userId, session } = connection;
    if (session === null) return;
    this.replays.read({
      userId,
      after,
      place,
      key: session.payerId,
      isNewcomer: !this.options.gateway.sequencer.engine.isEstablished(userId),
      isOver: () => !connection.isOpen,
      done: (result) => this.answered(resume, result),
    });
  }

  private answered(resume: Resume, result: Share | NotReplayed): void {
    if (this.replays.isStopped) return;
    const { connection, subscription, id } = resume;
    if (result === 'tooFar') this.finish(resume, null);
    else if (result === 'failed')
      this.whenDurable(() => {
        if (!connection.prepare(subscription, [])) return;
        this.end(resume);
        connection.drop(subscription);
        connection.send(errorText(NOT_NOW, { id, channel: 'user' }));
      });
    else {
      resume.share = result;
      resume.next = result.from;
      resume.leftMs = UNREAD_MS;
      this.addReady(resume);
    }
  }

  private addReady(resume: Resume): void {
    if (this.ready.size === 0) setImmediate(this.turn);
    this.ready.add(resume);
  }

  private readonly turn = (): void => {
    const [resume] = this.ready;
    if (resume === undefined || this.replays.isStopped) return;
    this.ready.delete(resume);
    this.sendPage(resume);
    if (this.ready.size > 0) setImmediate(this.turn);
  };

  private sendPage(resume: Resume): void {
    const { connection, subscription, share } = resume;
    const { window } = share!;
    if (!connection.prepare(subscription, [])) this.release(resume);
    else if (resume.next === window.ends.length) {
      resume.after = Math.max(resume.after, window.through);
      this.release(resume);
      this.goOn(resume);
    } else
      this.whenPaid(resume, READS_PER_PAGE, () => {
        connection.prepare(subscription, this.takePage(resume));
        this.waitUntilRead(resume);
      });
  }

  /** Continues after a sent window: finishes, or asks for the next one. */
  private goOn(resume: Resume): void {
    const { subscription, after, sentBytes } = resume;
    const { hub, limits } = this.options;
    const since = subscription.channel.since(after, hub.stamp.sequence);
    if (since !== null || sentBytes >= limits.replayedBytes) this.finish(resume, since);
    else this.whenPaid(resume, READS_PER_REPLAY, () => this.ask(resume));
  }

  private takePage(resume: Resume): Uint8Array[] {
    const { bytes, ends, numbers } = resume.share!.window;
    const texts: Uint8Array[] = [];
    const start = ends[resume.next - 1] ?? 0;
    let from = start;
    do {
      const to = ends[resume.next]!;
      texts.push(bytes.subarray(from, to));
      resume.after = numbers[resume.next++]!;
      resume.place = resume.after;
      from = to;
    } while (resume.next < ends.length && ends[resume.next]! - start <= PAGE_BYTES);
    resume.sentBytes += from - start;
    resume.connection.resumedTo = resume.after;
    return texts;
  }

  private waitUntilRead(resume: Resume): void {
    const { elapsedMs } = this.options;
    const sinceMs = elapsedMs();
    const slow = () => resume.connection.end(CLOSE.slowReader);
    const timer = setTimeout(slow, Math.max(0, resume.leftMs));
    resume.connection.whenRead(() => {
      clearTimeout(timer);
      resume.leftMs -= elapsedMs() - sinceMs;
      this.addReady(resume);
    });
  }

  private whenPaid(resume: Resume, reads: number, go: () => void): void {
    const { connection, subscription } = resume;
    const bill = new Bill(connection);
    bill.payer = connection.session;
    const result = this.options.gateway.fairUse.charge('reads', bill, reads);
    if (result === null || result.granted) {
      go();
      return;
    }
    setTimeout(() => {
      if (this.replays.isStopped) return;
      if (connection.prepare(subscription, [])) this.whenPaid(resume, reads, go);
      else this.release(resume);
    }, result.waitMs);
  }

  /** Sends the messages kept since the last window, or a snapshot. The channel then continues. */
  private finish(resume: Resume, since: readonly string[] | null): void {
    const { connection, subscription, after, place, id } = resume;
    const { stamp } = this.options.hub;
    const { channel } = subscription;
    const texts =
      since === null
        ? [resumeText('gap', channel, after, stamp, id), channel.snapshot(stamp, id)]
        : [replayedText(channel.name, { place, after }, stamp, id), ...since];
    this.whenDurable(() => {
      this.end(resume);
      connection.start(subscription, texts);
    });
  }

  private end({ connection, subscription }: Resume): void {
    subscription.isResuming = false;
    connection.resumedTo = Number.POSITIVE_INFINITY;
  }

  private release(resume: Resume): void {
    const { share } = resume;
    resume.share = null;
    share?.release();
  }

  private whenDurable(release: () => void): void {
    const { sequencer } = this.options.gateway;
    sequencer.releaseAt(sequencer.engine.sequence, { release });
  }
}
