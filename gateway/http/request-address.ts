/** Where a request comes from: what a proxy of ours says, or else the socket. */
import type { HttpResponse } from 'uWebSockets.js';
import { type AddressKey, addressKey, forwardedKey } from '../fair-use/addresses.js';
import type { Request } from './request.js';

/** To be called while the answer is not over. */
export function requestAddress(response: HttpResponse, incoming: Request): AddressKey {
  return forwardedKey(incoming.forwardedFor) ?? addressKey(response.getRemoteAddress());
}
