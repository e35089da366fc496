/**
 * Named tokens, which let programs act for a user until they are revoked or expire. The engine
 * stores their names, scopes and expiry times. The gateway signs the token texts, which are not
 * stored.
 *
 * An expired token stays known for EXPIRED_TOKEN_KEPT_MS, to distinguish it from a revoked one.
 * Ids are 1, 2, … and never reused.
 */

import type { TokenScope } from '../../interface/domain.js';
import { MAX_TIME_MS, MAX_TOKENS } from '../../interface/limits.js';
import { EXPIRED_TOKEN_KEPT_MS } from '../../interface/parameters.js';
import type { AccessTokenView } from '../../interface/views.js';
import type { Archive } from '../../storage/archive.js';
import { DeadlineHeap } from '../../storage/deadline-heap.js';
import type { IncrementalTask } from '../../storage/incremental-task.js';
import { HashIndex, mix32 } from '../../storage/indexes/hash-index.js';
import { OwnedRows } from '../../storage/owned-rows.js';
import { pooledTableOf } from '../../storage/table.js';
import { LongTexts } from '../../storage/texts.js';
import type { UndoLog } from '../../storage/undo.js';
import { Pool, type Room } from './room.js';

type NewToken = Omit<AccessTokenView, 'tokenId' | 'isExpired'>;

const TokenTable = pooledTableOf(
  64,
  {
    createdAtMs: 'f64',
    expiresAtMs: 'f64',
    /** The greatest client sequence used with the token. */
    clientSequence: 'f64',
    /** The token's id; 0 if the row is free. */
    id: 'i32',
    userId: 'i32',
    scope: 'i32',
    /** 1 if the token has expired. */
    expired: 'i32',
    /** The place in the heap of deadlines; 0 if none. */
    place: 'i32',
    /** The list of the user's tokens, oldest first. */
    before: 'i32',
    after: 'i32',
  },
  'after',
);

export class Tokens extends TokenTable {
  private lastId = 0;
  private readonly index = new HashIndex();
  private readonly names = new LongTexts();
  private readonly addresses = new LongTexts();
  readonly owners: OwnedRows;
  readonly deadlines = new DeadlineHeap(this);

  constructor(
    undo: UndoLog,
    private readonly room: Room,
  ) {
    super(undo);
    this.owners = new OwnedRows(undo, this);
  }

  reserve(users: number): void {
    this.ensure(MAX_TOKENS + 1);
    this.owners.ensure(users);
  }

  /** The row of a token; 0 if it never existed, or is forgotten. */
  find(tokenId: number): number {
    const hash = mix32(tokenId);
    let row = this.index.first(hash);
    while (row !== 0 && this.id(row) !== tokenId) row = this.index.next(hash, row);
    return row;
  }

  isExpired(row: number): boolean {
    return this.expired(row) === 1;
  }

  /** When the token expires or, after that, is forgotten. */
  atMs(row: number): number {
    return this.expiresAtMs(row) + (this.isExpired(row) ? EXPIRED_TOKEN_KEPT_MS : 0);
  }

  add(token: NewToken): number {
    const { userId, expiresAtMs } = token;
    const row = this.take();
    this.clear(row);
    this.names.ensure(row + 1);
    this.addresses.ensure(row + 1);
    this.lastId++;
    this.setId(row, this.lastId);
    this.setUserId(row, userId);
    this.setScope(row, token.scope);
    this.setCreatedAtMs(row, token.createdAtMs);
    this.setExpiresAtMs(row, expiresAtMs);
    this.names.set(row, token.name);
    this.addresses.set(row, token.allowedAddresses);
    this.index.add(mix32(this.lastId), row);
    this.owners.append(userId, row);
    if (expiresAtMs !== MAX_TIME_MS) this.deadlines.add(row);
    this.room.count(Pool.tokens, userId, 1);
    return this.lastId;
  }

  /** Marks the token as expired, and schedules forgetting it. */
  expire(row: number): void {
    this.deadlines.remove(row);
    this.setExpired(row, 1);
    this.deadlines.add(row);
  }

  remove(row: number): void {
    const userId = this.userId(row);
    this.deadlines.remove(row);
    this.owners.remove(userId, row);
    this.room.count(Pool.tokens, userId, -1);
    this.index.remove(mix32(this.id(row)), row);
    this.names.set(row, '');
    this.addresses.set(row, '');
    this.setId(row, 0);
    this.giveBack(row);
  }

  removeAllOf(userId: number): void {
    for (const row of this.owners.rowsOf(userId)) this.remove(row);
  }

  viewsOf(userId: number): AccessTokenView[] {
    return this.owners.rowsOf(userId).map((row) => this.view(row));
  }

  view(row: number): AccessTokenView {
    return {
      tokenId: this.id(row),
      userId: this.userId(row),
      name: this.names.get(row),
      scope: this.scope(row) as TokenScope,
      createdAtMs: this.createdAtMs(row),
      expiresAtMs: this.expiresAtMs(row),
      allowedAddresses: this.addresses.get(row),
      isExpired: this.isExpired(row),
    };
  }

  *archiveAll(archive: Archive, userRows: number): IncrementalTask<void> {
    this.archive(archive);
    this.lastId = archive.number(this.lastId);
    this.owners.archiveRows(archive, 0, userRows);
    this.deadlines.archive(archive);
    yield* this.names.archive(archive, this.rows);
    yield* this.addresses.archive(archive, this.rows);
    if (!archive.reading) return;
    this.index.clear(this.used);
    for (let row = 1; row < this.rows; row++)
      if (this.id(row) !== 0) this.index.add(mix32(this.id(row)), row);
  }
}
