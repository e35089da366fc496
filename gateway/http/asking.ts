/** The commands that routes read straight from a body, and what that takes, here and at an edge. */
import type { Command, CommandName } from '../../engine/interface/commands.js';
import type { Assets } from '../../engine/interface/notation.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import type { Request } from './request.js';

/** Who asks for a command, and how: all that its record depends on besides the body. */
export interface Asking {
  readonly request: Request;
  readonly assets: Assets;
  readonly userId: number;
  /** The id of a named token; 0: the token came with the password. */
  readonly tokenId: number;
  /** Set before the body is read. */
  idempotencyKey: string | null;
}

/** A change that is one command of the signed-in user, whose receipt is answered with 200. */
export interface RouteCommand {
  kind: CommandName;
  /**
   * Reads the usual bodies from their bytes straight into the command, at a fraction of the cost of
   * the schemas. null: the schemas decide.
   */
  read(asking: Asking, body: Uint8Array): Command | null;
  receipt: ReceiptWriter<string | Uint8Array>;
}
