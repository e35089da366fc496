/**
 * The greatest executed client sequence of each user's password and of each named token
 * (tokens.ts). It is kept as long as the password or token is known, so that a command is never
 * executed twice.
 */

import { type Archive, ROWS_IN_PIECE } from '../../storage/archive.js';
import { Int53Chunks } from '../../storage/chunks.js';
import type { Work } from '../../storage/pieces.js';
import type { Tokens } from './tokens.js';

export class ClientSequences {
  /** The greatest number used with the password, by user. */
  private readonly ofPassword = new Int53Chunks();

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

  *archive(archive: Archive, userRows: number): Work<void> {
    for (let userId = 1; userId < userRows; userId++) {
      if (userId % ROWS_IN_PIECE === 0) yield;
      this.ofPassword.set(userId, archive.number(this.ofPassword.get(userId)));
    }
  }
}
