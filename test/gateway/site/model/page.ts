/** What the site's model needs of a browser: an address, and answers of an exchange. */
import { afterAll, vi } from 'vitest';

type Answer = (address: string, body: string | undefined) => object;

let answer: Answer = () => ({});

/** Before the model is imported. Tests may share it, so each says what is answered. */
export function openPage(answers: Answer): void {
  answer = answers;
  vi.stubGlobal('location', { hash: '', origin: 'http://exchange' });
  vi.stubGlobal('addEventListener', () => {});
  vi.stubGlobal('fetch', async (address: URL | string, request: { body?: string } = {}) =>
    Response.json(answer(`${address}`, request.body)),
  );
  afterAll(() => {
    vi.unstubAllGlobals();
  });
}
