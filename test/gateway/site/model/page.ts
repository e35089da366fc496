/** What the site's model needs of a browser: an address, and answers of an exchange. */
import { afterAll, vi } from 'vitest';

type Answer = (address: string, body: string | undefined, headers: Headers) => object;

let answer: Answer = () => ({});

/** Before the model is imported. Tests may share it, so each says what is answered. */
export function openPage(answers: Answer): void {
  answer = answers;
  vi.stubGlobal('location', { hash: '', origin: 'http://exchange' });
  vi.stubGlobal('addEventListener', () => {});
  const respond = async (address: URL | string, { body, headers }: RequestInit = {}) => {
    const answered = answer(`${address}`, body as string | undefined, new Headers(headers));
    return answered instanceof Response ? answered : Response.json(answered);
  };
  vi.stubGlobal('fetch', respond);
  afterAll(() => {
    vi.unstubAllGlobals();
  });
}
