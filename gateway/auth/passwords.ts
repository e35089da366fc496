/**
 * Password hashes (scrypt). Hashing runs on libuv's thread pool, which the journal's commits use too, so at most one hash
 * is under way at a time. Those who wait for one have fair shares by address (fair-queue.ts); whoever gets none within
 * {@link WAIT_MS} is told so.
 *
 * A credential is `scrypt$<log2 of N>$<r>$<p>$<salt>$<key>` (base64url), so that the cost can be raised later without
 * ending anybody's password.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { type Asker, FairQueue, type FairQueueLimits } from '../fair-use/fair-queue.js';
import { elapsedMs } from '../time/clock.js';

/** Some 80 hashes of the default cost: less than most clients wait for an answer. */
const WAIT_MS = 5_000;
const LIMITS: FairQueueLimits = { perLane: 500, perAddress: 100, waitMs: WAIT_MS };
const BLOCK_SIZE = 8;
const PARALLELISM = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

export class Passwords {
  readonly queue: FairQueue;
  /** Fits no password. Checked in place of a missing user's, so that both answers take the same time. */
  private readonly nobody: string;
  /** The cost of every check: the highest of all costs that were met. */
  private checkCostLog2: number;

  /** `costLog2`: scrypt's N is 2 to this power; 15 takes some 60 ms and 32 MiB. */
  constructor(
    private readonly costLog2: number,
    limits = LIMITS,
  ) {
    this.queue = new FairQueue(limits, elapsedMs);
    this.nobody = format(costLog2, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));
    this.checkCostLog2 = costLog2;
  }

  /** null: the asker got no turn, or the exchange stops; there is no hash. */
  hash(password: string, asker: Asker): Promise<string | null> {
    return this.queue.run(asker, async () => {
      const salt = randomBytes(SALT_BYTES);
      return format(this.costLog2, salt, await derive(password, salt, this.costLog2));
    });
  }

  /**
   * Whether the password is the one that the credential was made from; an empty credential fits none. null: as above. An
   * address from which the right one came is known to the queue from then on.
   */
  async verify(password: string, credential: string, asker: Asker): Promise<boolean | null> {
    const [scheme, costLog2, blockSize, parallelism, salt, key] = (credential || this.nobody).split('$');
    if (scheme !== 'scrypt' || Number(blockSize) !== BLOCK_SIZE || Number(parallelism) !== PARALLELISM) {
      throw new Error('a credential is not in the form that this version writes');
    }
    // Of a client that leaves meanwhile, it cannot be asked any more.
    const { address } = asker;
    const fits = await this.queue.run(asker, async () => {
      const derived = await this.deriveEvenly(password, Buffer.from(salt!, 'base64url'), Number(costLog2));
      return timingSafeEqual(derived, Buffer.from(key!, 'base64url'));
    });
    if (fits === true) this.queue.know(address);
    return fits;
  }

  /** Nobody gets a turn any more; the hash under way is finished, unless {@link giveUp} follows. */
  close(): void {
    this.queue.close();
  }

  /** Whoever waits for the hash under way waits no longer. Of high costs one takes seconds, and none can be interrupted. */
  giveUp(): void {
    this.queue.giveUp();
  }

  private async deriveEvenly(password: string, salt: Buffer, costLog2: number): Promise<Buffer> {
    this.checkCostLog2 = Math.max(this.checkCostLog2, costLog2);
    const key = await derive(password, salt, costLog2);
    for (const more of makeUpCosts(costLog2, this.checkCostLog2)) await derive(password, salt, more);
    return key;
  }
}

/**
 * What is hashed besides, for nothing, so that a check takes as long as one of the highest cost: after the cost was changed, the time
 * does not tell an old account from a name that is nobody's. Costs are powers of two: c, and c, c + 1 ... max - 1, make max.
 */
export function makeUpCosts(costLog2: number, maxLog2: number): number[] {
  return Array.from({ length: maxLog2 - costLog2 }, (_, i) => costLog2 + i);
}

function derive(password: string, salt: Buffer, costLog2: number): Promise<Buffer> {
  const cost = 2 ** costLog2;
  const options: ScryptOptions = {
    N: cost,
    r: BLOCK_SIZE,
    p: PARALLELISM,
    maxmem: 256 * cost * BLOCK_SIZE,
  };
  return new Promise((resolve, reject) => {
    scrypt(password.normalize('NFKC'), salt, KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

function format(costLog2: number, salt: Buffer, key: Buffer): string {
  const texts = [salt, key].map((bytes) => bytes.toString('base64url'));
  return ['scrypt', costLog2, BLOCK_SIZE, PARALLELISM, ...texts].join('$');
}
