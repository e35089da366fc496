/**
 * Whether a request that a browser's cookie authenticates was made by the site itself. Browsers say so in `Origin` (all
 * changing requests) and `Sec-Fetch-Site`; a client that sends neither is no browser, and nobody can make it send a
 * cookie against its will.
 *
 * Without an Origin only `same-origin` will do: `same-site` is a page of another host of the domain, and `none` (what somebody types) changes nothing
 * here.
 */

export interface RequestOrigin {
  /** Headers, empty if absent. */
  origin: string;
  secFetchSite: string;
  /** The host and port that the client asked for. */
  host: string;
}

/** `siteOrigins`: further origins of the site, such as https://example.com, when a proxy in front changes the host. */
export function isSameSite(request: RequestOrigin, siteOrigins: readonly string[]): boolean {
  const { origin, secFetchSite } = request;
  if (secFetchSite === 'cross-site') return false;
  if (origin === '') return secFetchSite === '' || secFetchSite === 'same-origin';
  if (siteOrigins.includes(origin)) return true;
  const scheme = /^https?:\/\//.exec(origin);
  return scheme !== null && origin.slice(scheme[0].length) === request.host;
}
