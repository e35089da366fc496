/** Routes of changes that are one command of the signed-in user. */
import type { Command, UserCommand } from '../../engine/interface/commands.js';
import type { ReceiptWriter } from '../commands/receipt.js';
import type { Call } from '../http/call.js';
import { type Definition, defineRoute, type Method, type Route } from '../http/route.js';
import { executeFor } from '../http/submission.js';

type OwnPart<Of> = Of extends UserCommand ? Omit<Of, keyof UserCommand> : never;

interface Change<Body, Query>
  extends Omit<Definition<Body, Query>, 'access' | 'command' | 'handle' | 'idempotent'> {
  receipt: ReceiptWriter<string | Uint8Array>;
  /** Without user and key; `null` if the request has been refused. */
  commandOf(call: Call<Body, Query>): OwnPart<Command> | null;
}

/** The answer's status is the only one in the route's responses. */
export function defineChange<Body = undefined, Query = unknown>(
  method: Method,
  path: string,
  { receipt, commandOf, ...definition }: Change<Body, Query>,
): Route {
  const status = Number(Object.keys(definition.responses)[0]);
  return defineRoute<Body, Query>(method, path, {
    ...definition,
    access: 'session',
    idempotent: true,
    handle(call) {
      const { userId, idempotencyKey } = call;
      const own = commandOf(call);
      if (own !== null)
        executeFor(call, { userId, idempotencyKey, ...own } as Command, status, receipt);
    },
  });
}
