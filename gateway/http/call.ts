/** An API request in progress. Not pooled: GC takes only 1 to 2% of the trading thread. */
import type { z } from 'zod';
import type { Engine } from '../../engine/engine.js';
import type { Command } from '../../engine/interface/commands.js';
import type { Assets } from '../../engine/interface/notation.js';
import type { AsOf } from '../../persistence/history/as-of.js';
import { unitsOfAnswer } from '../access/fair-use/charges.js';
import { signInKey } from '../access/fair-use/fair-use.js';
import type { Session } from '../access/sessions.js';
import { type ErrorAnswer, type ErrorCode, errorAnswer } from '../commands/errors.js';
import type { Admission } from '../commands/intake.js';
import { jsonText, type Writable } from '../json/serializer.js';
import type { Writer } from '../json/writer.js';
import { Reply } from './answers/reply.js';
import type { Gateway } from './gateway.js';
import type { CommandContext } from './request.js';

export class Call<Body = unknown, Query = unknown>
  extends Reply<Gateway>
  implements CommandContext
{
  session: Session | null = null;
  partner: string | null = null;
  operator: string | null = null;
  idempotencyKey: string | null = null;
  /** The command read straight from the body's bytes; `null` if the schemas parsed the body. */
  command: Command | null = null;
  /** The value parsed by the route's body schema. Set before the handler runs. */
  body!: Body;
  query!: Query;

  /** The smallest sequence that the answer may have, and whether the client named it. */
  minSequence = 0;
  namesSequence = false;

  get userId(): number {
    return this.session?.userId ?? 0;
  }

  get tokenId(): number {
    return this.session?.tokenId ?? 0;
  }

  get assets(): Assets {
    return this.engine;
  }

  get engine(): Engine {
    return this.gateway.sequencer.engine;
  }

  get asOf(): AsOf {
    const { sequence, nowMs: atMs } = this.engine;
    return { sequence, atMs };
  }

  parameter(name: string): string {
    return this.request.parameter(name);
  }

  chargeSignIn(username: string): boolean {
    this.wallet.bill.signIn = signInKey(this.address, username);
    return this.charge(1);
  }

  answerWhenDurable(
    status: number,
    text: string | Uint8Array,
    sequence = this.engine.sequence,
  ): void {
    if (this.wallet.quota === 'reads') this.owe(unitsOfAnswer(text));
    this.prepare(status, text, sequence);
    this.gateway.sequencer.releaseAt(sequence, this);
  }

  /** For monitoring, whose counts need not be durable. Sends nothing after a failure. */
  answerOfProcess(status: number, text: string): void {
    if (this.gateway.sequencer.failure === null) this.answerNow(status, text);
  }

  answerJson<Schema extends z.ZodType>(value: Writable<Schema>, sequence?: number): void {
    this.answerWhenDurable(200, jsonText<Schema>(value), sequence);
  }

  answer<Source extends object>(
    writer: Writer<Source, Engine>,
    source: Source & Partial<AsOf>,
    sequence?: number,
  ): void {
    this.answerWhenDurable(200, writer.text(source, this.engine), sequence);
  }

  /** Returns whether the value exists; if not, refuses the request with `code`. */
  require<Found>(found: Found, code: ErrorCode): found is NonNullable<Found> {
    if (found !== null && found !== undefined) return true;
    return this.refuseWhenDurable(errorAnswer(code));
  }

  refuseAdmission({ refusal, retryAfter, isOfState }: Admission): false {
    if (retryAfter !== null) this.addHeader('Retry-After', retryAfter);
    return isOfState ? this.refuseWhenDurable(refusal!) : this.refuseNow(refusal!);
  }

  refuseWhenDurable({ status, text }: ErrorAnswer): false {
    this.answerWhenDurable(status, text);
    return false;
  }
}
