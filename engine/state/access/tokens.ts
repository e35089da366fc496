/**
 * Named tokens, which let programs act for a user until they are revoked or expire. The engine
 * stores their names, scopes and expiry times. The gateway signs the token texts, which are not
 * stored.
 *
 * An expired token stays known for EXPIRED_TOKEN_KEPT_MS, to distinguish it from a revoked one.
 * Ids are 1, 2, … and never reused.
 */

import type { TokenScope } from '../../interface/domain.js';
import { MAX_TIME_MS } from '../../interface/limits.js';
import { EXPIRED_TOKEN_KEPT_MS } from '../../interface/parameters.js';
import type { AccessTokenView } from '../../interface/views.js';
import { type Archive, ROWS_IN_PIECE } from '../../storage/archive.js';
import { Int32Chunks, Int53Chunks, RowPool } from '../../storage/chunks.js';
import { Deadlines } from '../../storage/deadline-heap.js';
import { HashIndex, mixed } from '../../storage/indexes/hash-index.js';
import { Links, ListEnds } from '../../storage/linked-lists.js';
import type { Work } from '../../storage/pieces.js';
import { LongTexts } from '../../storage/texts.js';
import { Pool, type Room } from './room.js';

type NewToken = Omit<AccessTokenView, 'tokenId' | 'isExpired'>;

export class Tokens {
  /** The number of known tokens, including expired ones. */
  count = 0;
  private lastId = 0;
  private readonly index = new HashIndex();
  private readonly ids = new Int32Chunks();
  private readonly userIds = new Int32Chunks();
  private readonly scopes = new Int32Chunks();
  private readonly createdAtMs = new Int53Chunks();
  private readonly expiresAtMs = new Int53Chunks();
  private readonly expired = new Int32Chunks();
  private readonly clientSequences = new Int53Chunks();
  private readonly names = new LongTexts();
  private readonly addresses = new LongTexts();
  private readonly links = new Links();
  private readonly ofUser = new ListEnds();
  private readonly countOfUser = new Int32Chunks();
  /** When a token expires or, after that, is forgotten. */
  readonly deadlines = new Deadlines((row) => this.ids.get(row));
  private readonly pool = new RowPool(this.links.afters, (rows) => this.ensureRows(rows));

  constructor(private readonly room: Room) {}

  /** The row of a token; 0 if it never existed, or is forgotten. */
  find(tokenId: number): number {
    const hash = mixed(tokenId);
    let row = this.index.first(hash);
    while (row !== 0 && this.ids.get(row) !== tokenId) row = this.index.next(hash, row);
    return row;
  }

  id(row: number): number {
    return this.ids.get(row);
  }

  clientSequence(row: number): number {
    return this.clientSequences.get(row);
  }

  setClientSequence(row: number, clientSequence: number): void {
    this.clientSequences.set(row, clientSequence);
  }

  userId(row: number): number {
    return this.userIds.get(row);
  }

  isExpired(row: number): boolean {
    return this.expired.get(row) === 1;
  }

  countOf(userId: number): number {
    return this.countOfUser.get(userId);
  }

  add(token: NewToken): number {
    this.lastId++;
    this.store(this.lastId, token);
    this.room.count(Pool.tokens, token.userId, 1);
    return this.lastId;
  }

  /** Marks the token as expired, and schedules forgetting it. */
  expire(row: number): void {
    this.expired.set(row, 1);
    const forgottenAtMs = this.expiresAtMs.get(row) + EXPIRED_TOKEN_KEPT_MS;
    this.deadlines.set(row, forgottenAtMs);
  }

  remove(row: number): void {
    const userId = this.userIds.get(row);
    this.links.remove(this.ofUser, userId, row);
    this.countOfUser.set(userId, this.countOfUser.get(userId) - 1);
    this.count--;
    this.room.count(Pool.tokens, userId, -1);
    this.index.remove(mixed(this.ids.get(row)), row);
    this.deadlines.remove(row);
    this.names.set(row, '');
    this.addresses.set(row, '');
    this.pool.giveBack(row);
  }

  removeAllOf(userId: number): void {
    for (let row = this.ofUser.first(userId); row !== 0; row = this.ofUser.first(userId))
      this.remove(row);
  }

  viewsOf(userId: number): AccessTokenView[] {
    const views: AccessTokenView[] = [];
    for (let row = this.ofUser.first(userId); row !== 0; row = this.links.next(row))
      views.push(this.view(row));
    return views;
  }

  view(row: number): AccessTokenView {
    return {
      tokenId: this.ids.get(row),
      userId: this.userIds.get(row),
      name: this.names.get(row),
      scope: this.scopes.get(row) as TokenScope,
      createdAtMs: this.createdAtMs.get(row),
      expiresAtMs: this.expiresAtMs.get(row),
      allowedAddresses: this.addresses.get(row),
      isExpired: this.isExpired(row),
    };
  }

  ensureUsers(userRows: number): void {
    this.ofUser.ensure(userRows);
    this.countOfUser.ensure(userRows);
  }

  /** Archives the tokens user by user, oldest first. */
  *archive(archive: Archive, userRows: number): Work<void> {
    this.lastId = archive.number(this.lastId);
    const count = archive.number(this.count);
    if (archive.reading) {
      for (let i = 0; i < count; i++) this.archiveWhole(archive, NO_TOKEN);
      return;
    }
    for (let userId = 1; userId < userRows; userId++) {
      if (userId % ROWS_IN_PIECE === 0) yield;
      if (this.ofUser.first(userId) === 0) continue;
      for (const token of this.viewsOf(userId)) this.archiveWhole(archive, token);
    }
  }

  private archiveWhole(archive: Archive, token: AccessTokenView): void {
    const row = this.find(this.archiveOne(archive, token));
    this.clientSequences.set(row, archive.number(this.clientSequences.get(row)));
  }

  private archiveOne(archive: Archive, token: AccessTokenView): number {
    const tokenId = archive.number(token.tokenId);
    const read: NewToken = {
      userId: archive.number(token.userId),
      name: archive.text(token.name),
      scope: archive.number(token.scope) as TokenScope,
      createdAtMs: archive.number(token.createdAtMs),
      expiresAtMs: archive.number(token.expiresAtMs),
      allowedAddresses: archive.text(token.allowedAddresses),
    };
    const isExpired = archive.number(Number(token.isExpired)) === 1;
    if (!archive.reading) return tokenId;
    const row = this.store(tokenId, read);
    if (isExpired) this.expire(row);
    return tokenId;
  }

  private store(tokenId: number, token: NewToken): number {
    const { userId, expiresAtMs } = token;
    const row = this.pool.take();
    this.ids.set(row, tokenId);
    this.userIds.set(row, userId);
    this.scopes.set(row, token.scope);
    this.createdAtMs.set(row, token.createdAtMs);
    this.expiresAtMs.set(row, expiresAtMs);
    this.expired.set(row, 0);
    this.clientSequences.set(row, 0);
    this.names.set(row, token.name);
    this.addresses.set(row, token.allowedAddresses);
    this.links.append(this.ofUser, userId, row);
    this.countOfUser.set(userId, this.countOfUser.get(userId) + 1);
    this.count++;
    this.index.add(mixed(tokenId), row);
    if (expiresAtMs !== MAX_TIME_MS) this.deadlines.set(row, expiresAtMs);
    return row;
  }

  private ensureRows(rows: number): void {
    for (const column of [this.ids, this.userIds, this.scopes, this.expired]) column.ensure(rows);
    for (const column of [this.createdAtMs, this.expiresAtMs, this.clientSequences])
      column.ensure(rows);
    for (const column of [this.names, this.addresses]) column.ensure(rows);
    this.links.ensure(rows);
    this.deadlines.ensure(rows);
  }
}

const NO_TOKEN: AccessTokenView = {
  tokenId: 0,
  userId: 0,
  name: '',
  scope: 0,
  createdAtMs: 0,
  expiresAtMs: 0,
  allowedAddresses: '',
  isExpired: false,
};
