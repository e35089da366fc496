/** Where a request that no route serves comes from: what a proxy of ours says, or else the socket. */
import type { HttpRequest, HttpResponse } from 'uWebSockets.js';
import { type AddressKey, addressKey, forwardedKey } from '../fair-use/addresses.js';

/** To be called within the callback of the request. */
export function requestAddress(
  response: HttpResponse,
  request: HttpRequest,
  trustProxy: boolean,
): AddressKey {
  const forwarded = trustProxy ? forwardedKey(lastHeader(request, 'x-forwarded-for')) : null;
  return forwarded ?? addressKey(response.getRemoteAddress());
}

/** Empty if there is none. */
function lastHeader(request: HttpRequest, wanted: string): string {
  let last = '';
  request.forEach((name, value) => {
    if (name === wanted) last = value;
  });
  return last;
}
