/**
 * The greatest executed client sequence of each user's password and of each named token
 * (tokens.ts). It is kept as long as the password or token is known, so that a command is never
 * executed twice.
 */

import type { Archive } from '../../storage/archive.js';
import { Chunks } from '../../storage/chunks.js';
import type { Tokens } from './tokens.js';

export class ClientSequences {
  /** The greatest number used with the password, by user. */
  private readonly ofPassword = new Chunks(Float64Array);

  constructor(private readonly tokens: Tokens) {}

  /** The greatest number used; -1 if the user has no such token. */
  last(userId: number, tokenId: number): number {
    if (tokenId === 0) return this.ofPassword.get(userId);
    const row = this.tokens.find(tokenId);
    return row === 0 || this.tokens.userId(row) !== userId ? -1 : this.tokens.clientSequence(row);
  }

  /** Uses up a number of the user's token (0: the password). */
  use(userId: number, tokenId: number, clientSequence: number): void {
    if (tokenId === 0) this.ofPassword.set(userId, clientSequence);
    else this.tokens.setClientSequence(this.tokens.find(tokenId), clientSequence);
  }

  ensureUsers(userRows: number): void {
    this.ofPassword.ensure(userRows);
  }

  archive(archive: Archive, userRows: number): void {
    this.ofPassword.archive(archive, userRows);
  }
}
