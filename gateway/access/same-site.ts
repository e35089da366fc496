/**
 * Whether a request authenticated by a cookie comes from the site itself. Browsers send `Origin`
 * with all changes, and `Sec-Fetch-Site`. Without an Origin, only `same-origin` is accepted:
 * `same-site` is another host of the domain, and `none` (an address typed by the user) makes no
 * changes. A client that sends neither is not a browser, so it cannot be tricked into sending a
 * cookie.
 */

interface RequestOrigin {
  /** Headers; empty if absent. */
  origin: string;
  secFetchSite: string;
  /** The host and port that the client requested. */
  host: string;
}

/** `siteOrigins`: further origins of the site, for a proxy in front that changes the host. */
export function isSameSite(request: RequestOrigin, siteOrigins: readonly string[]): boolean {
  const { origin, secFetchSite } = request;
  if (secFetchSite === 'cross-site') return false;
  if (origin === '') return secFetchSite === '' || secFetchSite === 'same-origin';
  if (siteOrigins.includes(origin)) return true;
  const scheme = /^https?:\/\//.exec(origin);
  return scheme !== null && origin.slice(scheme[0].length) === request.host;
}
