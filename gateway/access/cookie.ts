/** The session cookie, which scripts cannot read (HttpOnly). */

const SESSION_COOKIE = 'service-session';

/** The longest lifetime that browsers accept. The token ends only when the credentials change. */
const LIFETIME_SECONDS = 400 * 86_400;

/**
 * The session cookie in the header Cookie; empty if absent. Another host of the domain can set a
 * second one: if the two differ, both are returned together, which is not a valid token.
 */
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

/** The token of a request: that of the header x-user-token, or of the cookie; empty: none. */
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
