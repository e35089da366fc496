/** The session cookie: reading it from a request and setting it in an answer. Scripts of the site never see it. */

const SESSION_COOKIE = 'service-session';

/** Browsers cut longer lifetimes to 400 days; the token itself ends only with the credentials. */
const LIFETIME_SECONDS = 400 * 86_400;

/**
 * The value of the session cookie in the header Cookie; empty if it is not there. Of two that differ (another host of the domain can set one)
 * nobody can tell which is the site's: both together are returned, which is no token.
 */
export function readSessionCookie(header: string): string {
  let found: string | null = null;
  for (const pair of header.split(';')) {
    const at = pair.indexOf('=');
    if (at <= 0 || pair.slice(0, at).trim() !== SESSION_COOKIE) continue;
    const value = pair
      .slice(at + 1)
      .trim()
      .replace(/^"(.*)"$/, '$1');
    if (found !== null && found !== value) return `${found} ${value}`;
    found = value;
  }
  return found ?? '';
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
