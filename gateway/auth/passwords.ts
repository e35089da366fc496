/**
 * Password hashes (scrypt). Hashing runs on libuv's thread pool, which the journal's commits use too, so at most one hash
 * is under way at a time, and at most WAITING_MAX wait for it; beyond that the caller is told that there is no room.
 *
 * A credential is `scrypt$<log2 of N>$<r>$<p>$<salt>$<key>` (base64url), so that the cost can be raised later without
 * ending anybody's password.
 */
import { randomBytes, type ScryptOptions, scrypt, timingSafeEqual } from 'node:crypto';

const WAITING_MAX = 500;
const BLOCK_SIZE = 8;
const PARALLELISM = 1;
const SALT_BYTES = 16;
const KEY_BYTES = 32;

export class Passwords {
  private busy = false;
  private readonly waiting: (() => void)[] = [];
  /** Fits no password. Checked in place of a missing user's, so that both answers take the same time. */
  private readonly nobody: string;

  /** `costLog2`: scrypt's N is 2 to this power; 15 takes some 60 ms and 32 MiB. */
  constructor(private readonly costLog2: number) {
    this.nobody = format(costLog2, randomBytes(SALT_BYTES), randomBytes(KEY_BYTES));
  }

  /** Whether one more hash may be asked for. */
  get hasRoom(): boolean {
    return this.waiting.length < WAITING_MAX;
  }

  /** null: when its turn came, nobody wanted the hash any more, and none was made. */
  async hash(password: string, isWanted: () => boolean): Promise<string | null> {
    const salt = randomBytes(SALT_BYTES);
    const key = await this.derive({ password, salt, costLog2: this.costLog2 }, isWanted);
    return key === null ? null : format(this.costLog2, salt, key);
  }

  /** Whether the password is the one that the credential was made from; an empty credential fits none. null: as above. */
  async verify(password: string, credential: string, isWanted: () => boolean): Promise<boolean | null> {
    const [scheme, costLog2, blockSize, parallelism, salt, key] = (credential || this.nobody).split('$');
    if (scheme !== 'scrypt' || Number(blockSize) !== BLOCK_SIZE || Number(parallelism) !== PARALLELISM) {
      throw new Error('a credential is not in the form that this version writes');
    }
    const task = { password, salt: Buffer.from(salt!, 'base64url'), costLog2: Number(costLog2) };
    const derived = await this.derive(task, isWanted);
    if (derived === null) return null;
    return timingSafeEqual(derived, Buffer.from(key!, 'base64url'));
  }

  /** Clients that hang up while they wait cost those behind them nothing. */
  private async derive(
    { password, salt, costLog2 }: { password: string; salt: Buffer; costLog2: number },
    isWanted: () => boolean,
  ): Promise<Buffer | null> {
    if (this.busy) await new Promise<void>((resolve) => this.waiting.push(resolve));
    this.busy = true;
    try {
      if (!isWanted()) return null;
      return await runScrypt(password.normalize('NFKC'), salt, 2 ** costLog2);
    } finally {
      // The place goes straight to the next in line, so that nobody who comes now gets in between.
      const next = this.waiting.shift();
      if (next === undefined) this.busy = false;
      else next();
    }
  }
}

function runScrypt(password: string, salt: Buffer, cost: number): Promise<Buffer> {
  const options: ScryptOptions = {
    N: cost,
    r: BLOCK_SIZE,
    p: PARALLELISM,
    maxmem: 256 * cost * BLOCK_SIZE,
  };
  return new Promise((resolve, reject) => {
    scrypt(password, salt, KEY_BYTES, options, (error, key) => {
      if (error === null) resolve(key);
      else reject(error);
    });
  });
}

function format(costLog2: number, salt: Buffer, key: Buffer): string {
  const texts = [salt, key].map((bytes) => bytes.toString('base64url'));
  return ['scrypt', costLog2, BLOCK_SIZE, PARALLELISM, ...texts].join('$');
}
