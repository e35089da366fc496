/**
 * Password hashes (scrypt), computed one at a time because libuv's thread pool also runs the
 * journal's commits. Addresses take turns (fair-queue.ts).
 *
 * A credential is `scrypt$<log2 of N>$<r>$<p>$<salt>$<key>` (base64url), so that the cost can be
 * raised without invalidating passwords.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';
import { FairQueue, type FairQueueLimits, type Requester } from './fair-use/fair-queue.js';
import { KnownAddresses } from './fair-use/known-addresses.js';
import type { ElapsedMs } from './fair-use/token-buckets.js';
import { isCode } from './sign-in-codes.js';

/** Time for about 80 hashes at the default cost. Most clients wait longer for an answer. */
const WAIT_MS = 5_000;
const LIMITS: FairQueueLimits = { perLane: 500, perKey: 100, waitMs: WAIT_MS };
const BLOCK_SIZE = 8;
const PARALLELISM = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

export class Passwords {
  readonly queue: FairQueue;
  /** Matches no password. Checked for unknown users, so that both answers take equally long. */
  private readonly dummy: string;
  private checkCostLog2: number;

  /** `costLog2`: log2 of scrypt's N. A value of 15 takes about 60 ms and 32 MiB. */
  constructor(
    private readonly costLog2: number,
    elapsedMs: ElapsedMs,
    limits = LIMITS,
    known = new KnownAddresses(),
  ) {
    this.queue = new FairQueue(limits, elapsedMs, known);
    this.dummy = format(costLog2, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));
    this.checkCostLog2 = costLog2;
  }

  /** Returns `null` if the request got no turn or the exchange is stopping. */
  hash(password: string, client: Requester): Promise<string | null> {
    return this.queue.run(client, async () => {
      const salt = randomBytes(SALT_BYTES);
      return format(this.costLog2, salt, await derive(password, salt, this.costLog2));
    });
  }

  /** Returns `null` as {@link hash} does. A match makes the address known. */
  async verify(password: string, credential: string, client: Requester): Promise<boolean | null> {
    const isPassword = credential !== '' && !isCode(credential);
    const parts = (isPassword ? credential : this.dummy).split('$');
    const [scheme, costLog2, blockSize, parallelism, salt, key] = parts;
    if (`${scheme} ${blockSize} ${parallelism}` !== `scrypt ${BLOCK_SIZE} ${PARALLELISM}`)
      throw new Error('a credential is not in the format of this version');
    // Read now, because the address is unavailable once the client has left.
    const { address } = client;
    const matches = await this.queue.run(client, async () => {
      const saltBytes = Buffer.from(salt!, 'base64url');
      const derived = await this.deriveEvenly(password, saltBytes, Number(costLog2));
      return timingSafeEqual(derived, Buffer.from(key!, 'base64url'));
    });
    if (matches === true) this.queue.known.add(address);
    return matches;
  }

  close(): void {
    this.queue.close();
  }

  /** Stops waiting for the current hash, which cannot be interrupted and may take seconds. */
  giveUp(): void {
    this.queue.giveUp();
  }

  private async deriveEvenly(password: string, salt: Buffer, costLog2: number): Promise<Buffer> {
    this.checkCostLog2 = Math.max(this.checkCostLog2, costLog2);
    const key = await derive(password, salt, costLog2);
    for (const more of makeUpCosts(costLog2, this.checkCostLog2))
      await derive(password, salt, more);
    return key;
  }
}

/**
 * Costs of extra hashes that make every check as slow as the most expensive one, so that time does
 * not distinguish an old account from an unknown name. Costs are powers of two: c plus c, c + 1,
 * ..., max - 1 add up to max.
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
