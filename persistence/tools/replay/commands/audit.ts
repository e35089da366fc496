/**
 * `audit`: checks after each batch that money is conserved, and that the engine's funds are those
 * of books kept from its events alone (books.ts). At intervals and at the end the engine runs its
 * own full check, of every account, market and order.
 */
import type { Engine } from '../../../../engine/engine.js';
import { decodeEvents } from '../../../../engine/interface/events.js';
import { ExitStatus } from '../../program.js';
import { type Invocation, replayJournal, type Visitor } from '../input/replay-journal.js';
import { bookFinding, type Finding } from '../output/findings.js';
import { Books } from '../proofs/books.js';
import { emitFunds } from './state.js';

/** A full check reads every account and order: too slow for each batch. */
const COMMANDS_PER_FULL_CHECK = 10_000;

export class Auditor implements Visitor {
  private readonly books = new Books();
  readonly findings: Finding[] = [];
  batchChecks = 0;
  fullChecks = 0;
  private lastFullCheck = 0;

  constructor(private readonly engine: Engine) {}

  applied(): void {
    for (const event of decodeEvents(this.engine.events)) this.books.add(event);
  }

  /** Stops at the first batch with a finding, because later batches would repeat it. */
  proven(): boolean {
    const { sequence } = this.engine;
    this.batchChecks++;
    this.find(this.books.problems(this.engine));
    if (sequence - this.lastFullCheck >= COMMANDS_PER_FULL_CHECK) this.checkEverything();
    return this.findings.length === 0;
  }

  checkEverything(): void {
    this.lastFullCheck = this.engine.sequence;
    this.fullChecks++;
    try {
      this.engine.checkInvariants();
    } catch (error) {
      this.find([(error as Error).message]);
    }
  }

  private find(problems: string[]): void {
    const place = `sequence ${this.engine.sequence} (the end of its batch)`;
    for (const problem of problems) this.findings.push(bookFinding(place, problem));
  }
}

export async function audit(request: Invocation): Promise<ExitStatus> {
  const { folder, progress, output } = request;
  const visit = (engine: Engine) => new Auditor(engine);
  const replayed = await replayJournal({ folder, progress, output, visit });
  const { engine, batches, visitor: auditor } = replayed;
  if (auditor.findings.length === 0) auditor.checkEverything();
  const { findings, batchChecks, fullChecks } = auditor;
  emitFunds(engine, output);
  for (const finding of findings) output.finding(finding);
  const { sequence, nowMs: atMs } = engine;
  const good = findings.length === 0;
  output.emit('audit', {
    ...{ good, findings: findings.length, sequence, atMs, digest: engine.digest() },
    ...{ batches, batchChecks, fullChecks },
  });
  return good ? ExitStatus.GOOD : ExitStatus.DAMAGE;
}
