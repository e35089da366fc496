/** The parts of a browser that the site's model needs: an address, and answers of an exchange. */
import { afterAll, vi } from 'vitest';

type Answer = (address: string, body: string | undefined, headers: Headers) => object;

let answer: Answer = () => ({});

/** Call before importing the model. Tests may share it, so each sets its own answers. */
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
