/**
 * The form of a file with secrets of sessions: one a line, of 32 bytes in base64url. The
 * gateway signs with them; tools copy the file with the folder.
 */

export const SECRET_FILE = 'session-secret';
export const SECRET_BYTES = 32;
/** Each costs every request with a wrong token a signature. */
export const SECRETS_MAX = 4;

/** null: the text has another form. */
export function parseSecrets(text: string): Buffer[] | null {
  const lines = text.trimEnd().split('\n');
  const secrets = lines.map((line) => Buffer.from(line, 'base64url'));
  // The decoder ignores invalid characters, so a secret must also encode back to the same text.
  const isValid = secrets.every(
    (secret, i) => secret.length === SECRET_BYTES && secret.toString('base64url') === lines[i],
  );
  return isValid && secrets.length <= SECRETS_MAX ? secrets : null;
}
