/** The id of a request: the client's own from X-Request-Id, or one that no other request of this exchange has. */
import { randomBytes } from 'node:crypto';

const OWN = /^[A-Za-z0-9_.:-]{1,64}$/;
/** Tells this process from those before it and beside it. */
const PROCESS = randomBytes(6).toString('base64url');
let count = 0;

export function requestId(header: string): string {
  return header !== '' && OWN.test(header) ? header : `${PROCESS}-${++count}`;
}
