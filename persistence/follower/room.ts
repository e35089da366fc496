/**
 * Room for the maxima in an engine that follows the journal, so that no table is moved once it is
 * large. To reserve takes some 20 ms, which an engine that stays small does not pay.
 */
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { Engine } from '../../engine/engine.js';

/** An engine that has executed fewer commands is small. */
const SMALL_COMMANDS = 20_000;

export class Room {
  private isReserved = false;

  constructor(private readonly engine: Engine) {}

  /** To be asked after each batch. */
  get isDue(): boolean {
    return !this.isReserved && this.engine.sequence >= SMALL_COMMANDS;
  }

  /** In turns. The caller applies no command until this settles. */
  async reserve(): Promise<void> {
    this.isReserved = true;
    for (const _ of this.engine.reserveInPieces()) await nextTurn();
  }
}
