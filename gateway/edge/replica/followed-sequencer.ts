/**
 * The exchange's state on a replica, in place of a sequencer: an engine that follows the journal.
 *
 * Invariant: targets are released in sequence order, once their whole batch has been applied and
 * yields the leader's digest. No command is accepted.
 */
import type { Engine } from '../../../engine/engine.js';
import { ReleaseQueue, type ReleaseTarget } from '../../../persistence/release-queue.js';
import { SubmitRefused } from '../../../persistence/sequencer.js';
import type { Sequencing } from '../../http/gateway.js';

export class FollowedSequencer implements Sequencing {
  readonly backlogBytes = 0;
  readonly commitWaitMs = 0;
  readonly failure = null;
  /** A replica does not trade, so it has nothing to halt. */
  readonly halted = null;
  private readonly waiting = new ReleaseQueue();
  private checked: number;
  private isReleasing = false;

  constructor(readonly engine: Engine) {
    this.checked = engine.sequence;
  }

  get durableSequence(): number {
    return this.checked;
  }

  /** Applied commands of a batch that is not checked yet. */
  get backlog(): number {
    return this.engine.sequence - this.checked;
  }

  get waitingTargets(): number {
    return this.waiting.length;
  }

  submit(): never {
    throw new SubmitRefused('this process follows the journal and does not write it');
  }

  submitRecord(): never {
    return this.submit();
  }

  releaseAt(sequence: number, target: ReleaseTarget): void {
    if (!(sequence >= 0 && sequence <= this.engine.sequence))
      throw new RangeError(`no command has the sequence ${sequence} yet`);
    this.waiting.add(sequence, target);
    if (sequence <= this.checked) this.release();
  }

  /** Call when a batch has been applied and checked. */
  batchApplied(lastSequence: number): void {
    this.checked = lastSequence;
    this.release();
  }

  private release(): void {
    // Called within a release, whose loop releases the target.
    if (this.isReleasing) return;
    this.isReleasing = true;
    try {
      for (;;) {
        const target = this.waiting.take(this.checked);
        if (target === null) break;
        target.release();
      }
    } finally {
      this.isReleasing = false;
    }
  }
}
