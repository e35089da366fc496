/** The session cookie, which scripts cannot read (HttpOnly), and checks of who sent it. */

const SESSION_COOKIE = 'service-session';

const LIFETIME_SECONDS = 400 * 86_400;

/** Empty if absent. If another host has set a different cookie, returns an invalid token. */
export function readSessionCookie(header: string): string {
  let found: string | null = null;
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at <= 0 || pair.slice(0, at).trim() !== SESSION_COOKIE) continue;
    const text = pair.slice(at + 1).trim();
    const value = text.replace(/^"(.*)"$/, '$1');
    if (found !== null && found !== value) return `${found} ${value}`;
    found = value;
  }
  return found ?? '';
}

/** Prefers x-user-token. Empty if absent. */
export function tokenIn({ userToken, cookie }: { userToken: string; cookie: string }): string {
  return userToken === '' ? readSessionCookie(cookie) : userToken;
}

export function sessionCookie(token: string, secure: boolean): string {
  return cookie(token, LIFETIME_SECONDS, secure);
}

export function clearedSessionCookie(secure: boolean): string {
  return cookie('', 0, secure);
}

function cookie(value: string, maxAgeSeconds: number, secure: boolean): string {
  const attributes = `Path=/; Max-Age=${maxAgeSeconds}; HttpOnly; SameSite=Lax`;
  return `${SESSION_COOKIE}=${value}; ${attributes}${secure ? '; Secure' : ''}`;
}

interface RequestOrigin {
  origin: string;
  secFetchSite: string;
  host: string;
}

/**
 * Whether a request authenticated by the cookie comes from the site itself. Browsers send `Origin`
 * with all changes. Without an Origin, only `same-origin` is accepted: `same-site` is another host
 * of the domain, and `none` (a typed address) makes no changes. A client that sends neither header
 * is not a browser, so it cannot be tricked into sending the cookie. `siteOrigins` lists more
 * origins of the site, for a proxy that changes the host.
 */
export function isSameSite(request: RequestOrigin, siteOrigins: readonly string[]): boolean {
  const { origin, secFetchSite } = request;
  if (secFetchSite === 'cross-site') return false;
  if (origin === '') return secFetchSite === '' || secFetchSite === 'same-origin';
  if (siteOrigins.includes(origin)) return true;
  const scheme = /^https?:\/\//.exec(origin);
  return scheme !== null && origin.slice(scheme[0].length) === request.host;
}
